package devices

import (
	"encoding/json"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// Attribute is a condition on a registered attribute of a device.
type Attribute struct{ Name, Value string }

// maxConditions is the largest number of conditions on attributes in a query.
const maxConditions = 16

// ParseAttributes parses conditions such as site:north. The name ends at the first colon. For an invalid
// condition, ParseAttributes fails with Invalid.
func ParseAttributes(texts []string) ([]Attribute, error) {
	if len(texts) > maxConditions {
		return nil, varve.InvalidParam("attribute", "%d conditions are too many: use at most %d", len(texts), maxConditions)
	}
	var list []Attribute
	for _, text := range texts {
		name, value, _ := strings.Cut(text, ":")
		if name == "" || value == "" {
			return nil, varve.InvalidParam("attribute", "%s lacks a name or a value: use name:value, as in site:north", quote.Text(text))
		}
		list = append(list, Attribute{name, value})
	}
	return list, nil
}

// matchAttributes reports whether an object has a property with the value of each condition.
func matchAttributes(object varve.Value, conditions []Attribute) bool {
	if len(conditions) == 0 {
		return true
	}
	var members map[string]json.RawMessage
	if object.IsZero() || json.Unmarshal([]byte(object.Text()), &members) != nil {
		return false // only objects have properties
	}
	for _, c := range conditions {
		if raw, ok := members[c.Name]; !ok || ScalarText(raw) != c.Value {
			return false
		}
	}
	return true
}

// ScalarText returns the text of a JSON string, number or boolean, or "" for another JSON value. A number
// has the same digits as in the JSON.
func ScalarText(raw json.RawMessage) string {
	switch raw[0] {
	case '{', '[', 'n':
		return ""
	case '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return ""
		}
		return text
	default:
		return string(raw)
	}
}
