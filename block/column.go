package block

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// Column has the values of one field. Values are grouped by kind: numbers, booleans and texts.
type Column struct {
	Name  string
	Kind  varve.Kind // kind of all values, unless Kinds is set
	Kinds []byte     // if the kinds differ, the kind of each reading's value
	Slots []int32    // for each reading, the index of its value in the group, or -1 without a value; if empty, value i belongs to reading i

	Plain bool           // if true, every reading has a number, and all numbers have the exponent Least
	Exps  []int64        // for each number, the exponent of its own notation, such as -2 for 21.50
	Coefs []int64        // for each number, its coefficient for the exponent Least, such as 2150 for 21.5 if Least is -2
	Least int64          // the smallest of Exps
	Most  int64          // the largest of Exps
	Wide  []varve.Number // if not empty, has all numbers, because one of them does not fit into Exps and Coefs
	Bools []byte         // one bit per boolean
	Texts []string       // strings and JSON texts

	Encoded Decoder // if not nil, Exps and Coefs are not valid yet, and Decode sets them
	At      int     // location of the column's numbers, as its Decoder defines it
}

// Decoder decodes the numbers of columns. It has checked them before, so it cannot fail.
type Decoder interface {
	// DecodeNumbers sets Exps and Coefs of a column. It reuses their memory.
	DecodeNumbers(c *Column)
}

// Decode decodes the numbers of the column, unless that was done before. Callers that use Exps or Coefs
// call it first. The methods of Column call it if they need numbers.
func (c *Column) Decode() {
	if c.Encoded != nil {
		c.Encoded.DecodeNumbers(c)
		c.Encoded = nil
	}
}

// Has reports whether reading i has the field of the column.
func (c *Column) Has(i int) bool { return len(c.Slots) == 0 || c.Slots[i] >= 0 }

// Count returns the number of readings in [from, to) that have the field.
func (c *Column) Count(from, to int) int {
	if len(c.Slots) == 0 {
		return to - from
	}
	n := 0
	for _, slot := range c.Slots[from:to] {
		if slot >= 0 {
			n++
		}
	}
	return n
}

// HasAny reports whether any reading of a part has the field.
func (c *Column) HasAny(p *Part) bool {
	if len(c.Slots) == 0 {
		return p.Len() > 0
	}
	for _, slot := range c.Slots[p.From:p.To] {
		if slot >= 0 {
			return true
		}
	}
	return false
}

// slot returns the kind of the value in reading i, and the index of the value in its group. The
// kind is 0 if the reading lacks the field.
func (c *Column) slot(i int) (varve.Kind, int) {
	kind := c.Kind
	if len(c.Kinds) > 0 {
		kind = varve.Kind(c.Kinds[i])
	}
	if len(c.Slots) > 0 {
		if c.Slots[i] < 0 {
			return 0, 0
		}
		i = int(c.Slots[i])
	}
	return kind, i
}

// Value returns the value of the field in reading i, or the zero Value.
func (c *Column) Value(i int) varve.Value {
	if c.Encoded != nil {
		c.Decode()
	}
	if c.Plain {
		return varve.NumberValue(decimal.FromScaled(c.Coefs[i], int(c.Least)))
	}
	kind, at := c.slot(i)
	switch kind {
	case 0:
		return varve.Value{}
	case varve.KindNumber:
		return varve.NumberValue(c.number(at))
	case varve.KindBool:
		return varve.BoolValue(c.Bools[at/8]>>(at%8)&1 == 1)
	case varve.KindString:
		return varve.StringValue(c.Texts[at])
	default:
		return varve.CanonicalJSON(c.Texts[at])
	}
}

func (c *Column) number(at int) varve.Number {
	if len(c.Wide) > 0 {
		return c.Wide[at]
	}
	exp, coef := c.Exps[at], c.Coefs[at]
	if exp != c.Least {
		// PowerOf10 does not fail, because the exponents were checked when the block was made.
		power, _ := decimal.PowerOf10(exp - c.Least)
		coef /= power
	}
	return decimal.FromScaled(coef, int(exp))
}
