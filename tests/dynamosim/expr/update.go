package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/varvedb/varve/tests/dynamosim/value"
)

// Errors of an update. Whether an update fails with one of them depends on the stored item.
const (
	errMissing = value.Invalid("The provided expression refers to an attribute that does not exist in the item")
	errPath    = value.Invalid("The document path provided in the update expression is invalid for update")
	errOperand = value.Invalid("An operand in the update expression has an incorrect data type")
)

// Update is a parsed update expression.
type Update struct {
	actions []action
}

type action struct {
	verb string // SET, REMOVE, ADD or DELETE
	path Path
	term term         // right-hand side of SET
	v    *value.Value // operand of ADD or DELETE
}

// ParseUpdate parses an update expression.
func ParseUpdate(text string, s *Scope) (*Update, error) {
	p, err := newParser(UpdateText, text, s)
	if err != nil {
		return nil, err
	}
	u := &Update{}
	seen := map[string]bool{}
	for p.peek().text != "" {
		verb := strings.ToUpper(p.peek().text)
		if !slices.Contains([]string{"SET", "REMOVE", "ADD", "DELETE"}, verb) {
			return nil, p.syntax()
		}
		if seen[verb] {
			return nil, p.invalid(`The "` + verb + `" section can only be used once in an update expression;`)
		}
		seen[verb] = true
		p.next++
		if err := p.clause(u, verb); err != nil {
			return nil, err
		}
	}
	return u, u.checkOverlap(p)
}

// clause parses all actions of a verb.
func (p *parser) clause(u *Update, verb string) error {
	for {
		path, err := p.path()
		if err != nil {
			return err
		}
		a := action{verb: verb, path: path}
		switch verb {
		case "SET":
			if err = p.expect("="); err == nil {
				a.term, err = p.term()
			}
		case "ADD", "DELETE":
			if a.v, err = p.value(); err == nil && !a.fits() {
				err = p.invalid("Incorrect operand type for operator or function; operator: " + verb + ", operand type: " + typeNames[a.v.Kind] +
					", typeSet: " + typeSets[verb])
			}
		}
		if err != nil {
			return err
		}
		u.actions = append(u.actions, a)
		if !p.accept(",") {
			return nil
		}
	}
}

var typeNames = map[value.Kind]string{
	value.String: "STRING", value.Number: "NUMBER", value.Binary: "BINARY", value.Bool: "BOOLEAN", value.Null: "NULL", value.List: "LIST",
	value.Map: "MAP", value.StringSet: "STRING_SET", value.NumberSet: "NUMBER_SET", value.BinarySet: "BINARY_SET",
}

var typeSets = map[string]string{"ADD": "ALLOWED_FOR_ADD_OPERAND", "DELETE": "ALLOWED_FOR_DELETE_OPERAND"}

// fits reports whether the verb of an ADD or DELETE action accepts the kind of its operand.
func (a *action) fits() bool {
	return a.v.Kind.IsSet() || a.verb == "ADD" && a.v.Kind == value.Number
}

// checkOverlap fails if two paths are equal, or if one path contains another.
func (u *Update) checkOverlap(p *parser) error {
	if len(u.actions) < 2 {
		return nil
	}
	paths := make([]Path, len(u.actions))
	for i := range u.actions {
		paths[i] = u.actions[i].path
	}
	slices.SortFunc(paths, func(a, b Path) int { return slices.CompareFunc(a, b, compareSteps) })
	for i := 1; i < len(paths); i++ {
		a, b := paths[i-1], paths[i]
		if n := min(len(a), len(b)); slices.Equal(a[:n], b[:n]) {
			return p.invalid("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: " + a.String() + ", path two: " + b.String())
		}
	}
	return nil
}

func compareSteps(a, b Step) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return a.Index - b.Index
}

// Paths returns the paths that the update may change.
func (u *Update) Paths() []Path {
	paths := make([]Path, len(u.actions))
	for i := range u.actions {
		paths[i] = u.actions[i].path
	}
	return paths
}

// Apply returns the updated item. It does not change the given item.
func (u *Update) Apply(it value.Item) (value.Item, error) {
	next := it.Clone()
	values := make([]*value.Value, len(u.actions)) // each value is computed from the item before the update
	for i := range u.actions {
		v, err := u.actions[i].result(it)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	var err error
	for _, i := range u.order() {
		a := &u.actions[i]
		switch {
		case values[i] != nil:
			next, err = assign(next, a.path, *values[i])
		case a.verb == "REMOVE" || a.path.Find(it) != nil:
			next, err = remove(next, a.path)
		}
		if err != nil {
			return nil, err
		}
	}
	return next, nil
}

// order returns the indexes of the actions in the order of execution. Actions with REMOVE come last, and
// higher indexes of lists come first among them. So no removal changes the index of a later one.
func (u *Update) order() []int {
	indexes := make([]int, len(u.actions))
	for i := range indexes {
		indexes[i] = i
	}
	slices.SortStableFunc(indexes, func(i, j int) int {
		a, b := &u.actions[i], &u.actions[j]
		if isRemove := a.verb == "REMOVE"; isRemove != (b.verb == "REMOVE") {
			if isRemove {
				return 1
			}
			return -1
		} else if !isRemove {
			return 0
		}
		return b.path[len(b.path)-1].Index - a.path[len(a.path)-1].Index
	})
	return indexes
}

// result returns the new value at the path of an action, or nil if the action removes it.
func (a *action) result(it value.Item) (*value.Value, error) {
	switch a.verb {
	case "SET":
		return a.term.result(it)
	case "REMOVE":
		return nil, nil
	}
	is := a.path.Find(it)
	switch {
	case is == nil && a.verb == "ADD":
		return a.v, nil
	case is == nil:
		return nil, nil
	case is.Kind != a.v.Kind:
		return nil, errOperand
	case a.verb == "DELETE":
		if v := is.Without(a.v); len(v.Elems) > 0 {
			return &v, nil
		}
		return nil, nil
	case a.v.Kind == value.Number:
		sum, err := value.Plus(is.Text, a.v.Text, false)
		return &value.Value{Kind: value.Number, Text: sum}, err
	default:
		v := is.Union(a.v)
		return &v, nil
	}
}

func assign(it value.Item, path Path, v value.Value) (value.Item, error) {
	if len(path) == 1 {
		return it.Set(path[0].Name, v.Clone()), nil
	}
	parent := path[:len(path)-1].Find(it)
	last := path[len(path)-1]
	switch {
	case parent == nil:
		return nil, errPath
	case last.Name != "" && parent.Kind == value.Map:
		parent.Fields = parent.Fields.Set(last.Name, v.Clone())
	case last.Name == "" && parent.Kind == value.List:
		if last.Index < len(parent.Elems) {
			parent.Elems[last.Index] = v.Clone()
		} else {
			parent.Elems = append(parent.Elems, v.Clone())
		}
	default:
		return nil, errPath
	}
	return it, nil
}

func remove(it value.Item, path Path) (value.Item, error) {
	if len(path) == 1 {
		return it.Remove(path[0].Name), nil
	}
	parent := path[:len(path)-1].Find(it)
	last := path[len(path)-1]
	switch {
	case parent == nil:
		return nil, errPath
	case last.Name != "" && parent.Kind == value.Map:
		parent.Fields = parent.Fields.Remove(last.Name)
	case last.Name == "" && parent.Kind == value.List:
		if last.Index < len(parent.Elems) {
			parent.Elems = slices.Delete(parent.Elems, last.Index, last.Index+1)
		}
	default:
		return nil, errPath
	}
	return it, nil
}

// String formats a step for messages.
func (s Step) String() string {
	if s.Name == "" {
		return strconv.Itoa(s.Index)
	}
	return s.Name
}
