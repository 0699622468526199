package expr

import (
	"slices"
	"strings"

	"github.com/varvedb/varve/tests/dynamosim/value"
)

// Condition is a parsed condition of a write, a key condition or a filter.
type Condition interface {
	// Holds reports whether the condition is true for an item. A nil item means that the item is
	// missing.
	Holds(it value.Item) bool
}

type (
	and        struct{ a, b Condition }
	or         struct{ a, b Condition }
	not        struct{ c Condition }
	comparison struct {
		op   string
		a, b operand
	}
	between struct{ x, low, high operand }
	in      struct {
		x    operand
		list []operand
	}
	exists   struct{ path Path }
	ofType   struct{ x, kind operand }
	prefix   struct{ x, prefix operand }
	contains struct{ x, member operand }
)

// ParseCondition parses a condition. The argument "kind" is the name of the request's parameter,
// such as FilterText.
func ParseCondition(kind, text string, s *Scope) (Condition, error) {
	p, err := newParser(kind, text, s)
	if err != nil {
		return nil, err
	}
	c, err := p.or()
	if err != nil {
		return nil, err
	}
	return c, p.end()
}

func (p *parser) or() (Condition, error) {
	a, err := p.and()
	for err == nil && p.accept("OR") {
		var b Condition
		b, err = p.and()
		a = or{a, b}
	}
	return a, err
}

func (p *parser) and() (Condition, error) {
	a, err := p.not()
	for err == nil && p.accept("AND") {
		var b Condition
		b, err = p.not()
		a = and{a, b}
	}
	return a, err
}

func (p *parser) not() (Condition, error) {
	if p.accept("NOT") {
		c, err := p.not()
		return not{c}, err
	}
	if p.peek().is("(") && !p.isOperandInParentheses() {
		p.next++
		c, err := p.or()
		if err != nil {
			return nil, err
		}
		return c, p.expect(")")
	}
	return p.predicate()
}

// isOperandInParentheses reports whether the next parentheses enclose only a name or a placeholder, as in
// (a) = :b. Other parentheses enclose a condition.
func (p *parser) isOperandInParentheses() bool {
	i := p.next
	for p.tokens[i].is("(") {
		i++
	}
	return (p.tokens[i].isName() || p.tokens[i].isValue()) && p.tokens[i+1].is(")")
}

// predicate parses a comparison, a condition with BETWEEN or IN, or a function that returns a boolean.
func (p *parser) predicate() (Condition, error) {
	if t := p.peek(); t.isName() && p.tokens[p.next+1].is("(") && !t.is("size") {
		return p.function()
	}
	x, err := p.operand()
	if err != nil {
		return nil, err
	}
	t := p.peek()
	switch {
	case slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, t.text):
		p.next++
		b, err := p.operand()
		return comparison{t.text, x, b}, err
	case p.accept("BETWEEN"):
		return p.between(x)
	case p.accept("IN"):
		return p.in(x)
	default:
		return nil, p.syntax()
	}
}

func (p *parser) between(x operand) (Condition, error) {
	low, err := p.operand()
	if err == nil {
		err = p.expect("AND")
	}
	if err != nil {
		return nil, err
	}
	high, err := p.operand()
	if err != nil {
		return nil, err
	}
	a, b := low.constant(), high.constant()
	if a != nil && b != nil {
		order, ok := a.Compare(b)
		switch {
		case !ok:
			return nil, p.invalid("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {" +
				a.Kind.String() + ":" + a.Text + "}, upper bound operand: AttributeValue: {" + b.Kind.String() + ":" + b.Text + "}")
		case order > 0:
			return nil, p.invalid("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {" +
				a.Kind.String() + ":" + a.Text + "}, upper bound operand: AttributeValue: {" + b.Kind.String() + ":" + b.Text + "}")
		}
	}
	return between{x, low, high}, nil
}

func (p *parser) in(x operand) (Condition, error) {
	list, err := p.arguments()
	return in{x, list}, err
}

func (p *parser) arguments() (list []operand, err error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for {
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		list = append(list, o)
		if !p.accept(",") {
			return list, p.expect(")")
		}
	}
}

// arity has the number of arguments of each function that returns a boolean.
var arity = map[string]int{"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2}

func (p *parser) function() (Condition, error) {
	name := p.peek().text
	want, known := arity[name]
	if !known {
		return nil, p.invalid("Invalid function name; function: " + name)
	}
	p.next++
	args, err := p.arguments()
	if err != nil {
		return nil, err
	}
	if len(args) != want {
		return nil, p.invalid("Incorrect number of operands for operator or function; operator or function: " + name)
	}
	path, isPath := args[0].(pathOperand)
	switch name {
	case "attribute_exists", "attribute_not_exists":
		if !isPath {
			return nil, p.invalid("Operator or function requires a document path; operator or function: " + name)
		}
		if name == "attribute_exists" {
			return exists{Path(path)}, nil
		}
		return not{exists{Path(path)}}, nil
	case "attribute_type":
		return ofType{args[0], args[1]}, nil
	case "begins_with":
		return prefix{args[0], args[1]}, nil
	default:
		return contains{args[0], args[1]}, nil
	}
}

func (c and) Holds(it value.Item) bool    { return c.a.Holds(it) && c.b.Holds(it) }
func (c or) Holds(it value.Item) bool     { return c.a.Holds(it) || c.b.Holds(it) }
func (c not) Holds(it value.Item) bool    { return !c.c.Holds(it) }
func (c exists) Holds(it value.Item) bool { return c.path.Find(it) != nil }

func (c comparison) Holds(it value.Item) bool {
	a, b := c.a.eval(it), c.b.eval(it)
	if a == nil || b == nil {
		return c.op == "<>" && a != b
	}
	return compare(c.op, a, b)
}

func compare(op string, a, b *value.Value) bool {
	switch op {
	case "=":
		return a.Equal(b)
	case "<>":
		return !a.Equal(b)
	}
	order, ok := a.Compare(b)
	return ok && (order < 0 && op[0] == '<' || order > 0 && op[0] == '>' || order == 0 && len(op) == 2)
}

func (c between) Holds(it value.Item) bool {
	x, low, high := c.x.eval(it), c.low.eval(it), c.high.eval(it)
	return x != nil && low != nil && high != nil && compare(">=", x, low) && compare("<=", x, high)
}

func (c in) Holds(it value.Item) bool {
	x := c.x.eval(it)
	return x != nil && slices.ContainsFunc(c.list, func(o operand) bool {
		v := o.eval(it)
		return v != nil && v.Equal(x)
	})
}

func (c ofType) Holds(it value.Item) bool {
	x, kind := c.x.eval(it), c.kind.eval(it)
	return x != nil && kind != nil && x.Kind.String() == kind.Text
}

func (c prefix) Holds(it value.Item) bool {
	x, start := c.x.eval(it), c.prefix.eval(it)
	return x != nil && start != nil && x.Kind == start.Kind && (x.Kind == value.String || x.Kind == value.Binary) && strings.HasPrefix(x.Text, start.Text)
}

func (c contains) Holds(it value.Item) bool {
	x, member := c.x.eval(it), c.member.eval(it)
	switch {
	case x == nil || member == nil:
		return false
	case x.Kind == value.String || x.Kind == value.Binary:
		return x.Kind == member.Kind && strings.Contains(x.Text, member.Text)
	default:
		return x.HasMember(member)
	}
}
