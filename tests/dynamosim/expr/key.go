package expr

import (
	"github.com/varvedb/varve/tests/dynamosim/value"
)

// KeyRange is a parsed key condition. It selects one hash key and a range of sort keys.
type KeyRange struct {
	Hash      value.Value
	Low, High *value.Value // limits of the sort key; nil means no limit
	LowOpen   bool         // whether Low itself is excluded
	HighOpen  bool         // whether High itself is excluded
	Prefix    *value.Value // prefix of the sort key; nil means any
}

const keyMissed = "Query condition missed key schema element: "

// ParseKeyRange parses a key condition for the given names of keys. The argument "sort" is "" if
// the table has no sort key.
func ParseKeyRange(text string, s *Scope, hash, sort string) (*KeyRange, error) {
	c, err := ParseCondition(KeyText, text, s)
	if err != nil {
		return nil, err
	}
	parts := []Condition{c}
	if both, ok := c.(and); ok {
		parts = []Condition{both.a, both.b}
	}
	r := &KeyRange{}
	found := map[string]bool{}
	for _, part := range parts {
		name, ok := r.apply(part, hash)
		if !ok {
			return nil, value.Invalid("Invalid operator used in KeyConditionExpression")
		}
		if found[name] {
			return nil, value.Invalid("Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key")
		}
		found[name] = true
	}
	if !found[hash] {
		return nil, value.Invalid(keyMissed + hash)
	}
	if len(parts) == 2 && !found[sort] {
		return nil, value.Invalid(keyMissed + sort)
	}
	return r, nil
}

// apply adds a part of the condition to the range, and returns the name of the part's key.
func (r *KeyRange) apply(part Condition, hash string) (name string, ok bool) {
	switch c := part.(type) {
	case comparison:
		return r.applyComparison(c, hash)
	case between:
		if name, ok = keyOf(c.x); !ok || name == hash {
			return name, false
		}
		r.Low, r.High = c.low.constant(), c.high.constant()
		return name, r.Low != nil && r.High != nil
	case prefix:
		if name, ok = keyOf(c.x); !ok || name == hash {
			return name, false
		}
		r.Prefix = c.prefix.constant()
		return name, r.Prefix != nil && r.Prefix.Kind != value.Number
	default:
		return "", false
	}
}

func (r *KeyRange) applyComparison(c comparison, hash string) (name string, ok bool) {
	name, ok = keyOf(c.a)
	v := c.b.constant()
	if !ok || v == nil {
		return "", false
	}
	if name == hash {
		r.Hash = *v
		return name, c.op == "="
	}
	switch c.op {
	case "=":
		r.Low, r.High = v, v
	case "<", "<=":
		r.High, r.HighOpen = v, c.op == "<"
	case ">", ">=":
		r.Low, r.LowOpen = v, c.op == ">"
	default:
		return name, false
	}
	return name, true
}

// keyOf returns the name of the attribute if the operand is a whole attribute.
func keyOf(o operand) (string, bool) {
	path, ok := o.(pathOperand)
	if !ok || len(path) != 1 {
		return "", false
	}
	return path[0].Name, true
}
