package expr

import (
	"strconv"

	"github.com/varvedb/varve/tests/dynamosim/value"
)

// operand is a part of a condition or update expression that has a value.
type operand interface {
	// eval returns the value, or nil if it is missing.
	eval(it value.Item) *value.Value
	// constant returns the value if the operand is a placeholder, otherwise nil.
	constant() *value.Value
}

type (
	pathOperand Path
	valOperand  struct{ v *value.Value }
	sizeOperand struct{ of operand }
)

func (o pathOperand) eval(it value.Item) *value.Value { return Path(o).Find(it) }
func (o pathOperand) constant() *value.Value          { return nil }
func (o valOperand) eval(value.Item) *value.Value     { return o.v }
func (o valOperand) constant() *value.Value           { return o.v }
func (o sizeOperand) constant() *value.Value          { return nil }

func (o sizeOperand) eval(it value.Item) *value.Value {
	v := o.of.eval(it)
	if v == nil {
		return nil
	}
	n, ok := v.Length()
	if !ok {
		return nil
	}
	return &value.Value{Kind: value.Number, Text: strconv.Itoa(n)}
}

// operand parses a path, a placeholder of a value, or a call of the function size.
func (p *parser) operand() (operand, error) {
	t := p.peek()
	switch {
	case p.accept("("):
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		return o, p.expect(")")
	case t.isValue():
		v, err := p.value()
		return valOperand{v}, err
	case t.text == "size" && p.tokens[p.next+1].is("("):
		p.next++
		args, err := p.arguments()
		if err != nil {
			return nil, err
		}
		if len(args) != 1 {
			return nil, p.invalid("Incorrect number of operands for operator or function; operator or function: size")
		}
		return sizeOperand{args[0]}, nil
	default:
		path, err := p.path()
		return pathOperand(path), err
	}
}
