package expr

import (
	"slices"

	"github.com/varvedb/varve/tests/dynamosim/value"
)

// term is the right-hand side of an assignment.
type term interface {
	result(it value.Item) (*value.Value, error)
}

type (
	leaf struct{ o operand }
	sum  struct {
		a, b  term
		minus bool
	}
	ifMissing struct {
		path Path
		or   term
	}
	joined struct{ a, b term }
)

// term parses the right-hand side of an assignment.
func (p *parser) term() (term, error) {
	a, err := p.factor()
	if err != nil {
		return nil, err
	}
	minus := p.peek().is("-")
	if !minus && !p.peek().is("+") {
		return a, nil
	}
	p.next++
	b, err := p.factor()
	return sum{a, b, minus}, err
}

func (p *parser) factor() (term, error) {
	t := p.peek()
	if t.isName() && p.tokens[p.next+1].is("(") {
		return p.updateFunction()
	}
	if p.accept("(") {
		inner, err := p.term()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	}
	o, err := p.operand()
	return leaf{o}, err
}

func (p *parser) updateFunction() (term, error) {
	name := p.peek().text
	if name != "if_not_exists" && name != "list_append" {
		return nil, p.invalid("Invalid function name; function: " + name)
	}
	p.next += 2
	a, err := p.term()
	if err == nil {
		err = p.expect(",")
	}
	if err != nil {
		return nil, err
	}
	b, err := p.term()
	if err == nil {
		err = p.expect(")")
	}
	if err != nil {
		return nil, err
	}
	if name == "list_append" {
		return joined{a, b}, nil
	}
	first, isLeaf := a.(leaf)
	path, isPath := first.o.(pathOperand)
	if !isLeaf || !isPath {
		return nil, p.invalid("Operator or function requires a document path; operator or function: if_not_exists")
	}
	return ifMissing{Path(path), b}, nil
}

func (t leaf) result(it value.Item) (*value.Value, error) {
	if v := t.o.eval(it); v != nil {
		return v, nil
	}
	return nil, errMissing
}

func (t sum) result(it value.Item) (*value.Value, error) {
	a, b, err := both(t.a, t.b, it, value.Number)
	if err != nil {
		return nil, err
	}
	text, err := value.Plus(a.Text, b.Text, t.minus)
	return &value.Value{Kind: value.Number, Text: text}, err
}

func (t ifMissing) result(it value.Item) (*value.Value, error) {
	if v := t.path.Find(it); v != nil {
		return v, nil
	}
	return t.or.result(it)
}

func (t joined) result(it value.Item) (*value.Value, error) {
	a, b, err := both(t.a, t.b, it, value.List)
	if err != nil {
		return nil, err
	}
	return &value.Value{Kind: value.List, Elems: slices.Concat(a.Elems, b.Elems)}, nil
}

// both returns the results of two terms. It fails if they are not of the given kind.
func both(x, y term, it value.Item, kind value.Kind) (a, b *value.Value, err error) {
	if a, err = x.result(it); err != nil {
		return nil, nil, err
	}
	if b, err = y.result(it); err != nil {
		return nil, nil, err
	}
	if a.Kind != kind || b.Kind != kind {
		return nil, nil, errOperand
	}
	return a, b, nil
}
