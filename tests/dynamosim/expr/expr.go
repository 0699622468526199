// Package expr parses and evaluates the expressions of DynamoDB.
//
//	text ── lex ── parser ── Condition   of writes, keys and filters
//	                   ├──── Update      SET, REMOVE, ADD, DELETE
//	                   └──── Projection  paths
//
// The main types:
//
//   - [Condition] and [KeyRange] select items, [Update] changes one, and [Path] names a part of one.
//   - [Scope] resolves the placeholders of all expressions of a request, and records which of them
//     are used.
//
// Errors are of type [value.Invalid] and have Amazon's messages. A failed update changes no item.
// Only some of the reserved words are rejected.
//
// Sources: Amazon DynamoDB developer guide, "Condition and filter expressions, operators, and
// functions", "Update expressions" and "Projection expressions".
package expr

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/varvedb/varve/tests/dynamosim/value"
)

// Names of the parameters with expressions, as in Amazon's messages.
const (
	ConditionText  = "ConditionExpression"
	FilterText     = "FilterExpression"
	KeyText        = "KeyConditionExpression"
	UpdateText     = "UpdateExpression"
	ProjectionText = "ProjectionExpression"
)

// Scope has the placeholders of a request, and records their use.
type Scope struct {
	Names  map[string]string
	Values map[string]value.Value

	usedNames, usedValues map[string]bool
}

// CheckUsed fails if a placeholder is not used in any expression.
func (s *Scope) CheckUsed() error {
	for _, name := range slices.Sorted(maps.Keys(s.Names)) {
		if !s.usedNames[name] {
			return value.Invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {" + name + "}")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		if !s.usedValues[name] {
			return value.Invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {" + name + "}")
		}
	}
	return nil
}

// Step is a part of a path: a name, or an index if the name is empty.
type Step struct {
	Name  string
	Index int
}

// Path identifies an attribute or a part of one.
type Path []Step

// String formats a path as Amazon's messages do.
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		if parts[i] = s.Name; s.Name == "" {
			parts[i] = "[" + strconv.Itoa(s.Index) + "]"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Find returns the value at a path, or nil if it is missing.
func (p Path) Find(it value.Item) *value.Value {
	v := it.Get(p[0].Name)
	for _, s := range p[1:] {
		if v = s.in(v); v == nil {
			return nil
		}
	}
	return v
}

// in returns the member or element of v that the step selects, or nil.
func (s Step) in(v *value.Value) *value.Value {
	switch {
	case v == nil:
		return nil
	case s.Name != "" && v.Kind == value.Map:
		return v.Fields.Get(s.Name)
	case s.Name == "" && v.Kind == value.List && s.Index < len(v.Elems):
		return &v.Elems[s.Index]
	default:
		return nil
	}
}

type parser struct {
	kind   string
	text   string
	tokens []token
	next   int
	scope  *Scope
}

func newParser(kind, text string, s *Scope) (*parser, error) {
	p := &parser{kind: kind, text: text, scope: s}
	if strings.TrimSpace(text) == "" {
		return nil, p.invalid("The expression can not be empty;")
	}
	var bad *token
	if p.tokens, bad = lex(text); bad != nil {
		return nil, p.invalid(`Syntax error; token: "` + bad.text + `", near: "` + near(text, *bad) + `"`)
	}
	if s.usedNames == nil {
		s.usedNames, s.usedValues = map[string]bool{}, map[string]bool{}
	}
	return p, nil
}

func (p *parser) peek() token { return p.tokens[p.next] }

// accept skips the next token and returns true if it is the given keyword or symbol.
func (p *parser) accept(text string) bool {
	if p.peek().is(text) {
		p.next++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.syntax()
	}
	return nil
}

// end fails if any tokens remain.
func (p *parser) end() error {
	if p.peek().text != "" {
		return p.syntax()
	}
	return nil
}

func (p *parser) path() (Path, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	path := Path{{Name: name}}
	for {
		switch {
		case p.accept("."):
			if name, err = p.name(); err != nil {
				return nil, err
			}
			path = append(path, Step{Name: name})
		case p.accept("["):
			n, err := strconv.Atoi(p.peek().text)
			if err != nil {
				return nil, p.syntax()
			}
			p.next++
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			path = append(path, Step{Index: n})
		default:
			return path, nil
		}
	}
}

// name parses an attribute name, and resolves its placeholder.
func (p *parser) name() (string, error) {
	t := p.peek()
	if !t.isName() {
		return "", p.syntax()
	}
	p.next++
	if t.text[0] != '#' {
		if reserved[strings.ToUpper(t.text)] {
			return "", p.invalid("Attribute name is a reserved keyword; reserved keyword: " + t.text)
		}
		return t.text, nil
	}
	name, known := p.scope.Names[t.text]
	if !known {
		return "", p.invalid("An expression attribute name used in the document path is not defined; attribute name: " + t.text)
	}
	p.scope.usedNames[t.text] = true
	return name, nil
}

// value resolves the placeholder of a value.
func (p *parser) value() (*value.Value, error) {
	t := p.peek()
	if !t.isValue() {
		return nil, p.syntax()
	}
	p.next++
	v, known := p.scope.Values[t.text]
	if !known {
		return nil, p.invalid("An expression attribute value used in expression is not defined; attribute value: " + t.text)
	}
	p.scope.usedValues[t.text] = true
	return &v, nil
}
