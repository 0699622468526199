package varve

import "github.com/varvedb/varve/internal/canonjson"

// MaxJSONDepth is the maximum nesting of objects and arrays in a JSON value.
const MaxJSONDepth = canonjson.MaxDepth

// JSONValue returns a JSON object or array as a value in canonical form.
//
// The form has no white space, sorted members, and numbers without superfluous zeros. JSONValue
// fails in these cases:
//
//   - The text is not a JSON object or array, or not valid UTF-8.
//   - A member occurs twice.
//   - A number is not a valid [Number].
//   - Objects and arrays are nested deeper than MaxJSONDepth.
func JSONValue(text []byte) (Value, error) {
	form, err := canonjson.Format(text)
	if err != nil {
		return Value{}, err
	}
	return CanonicalJSON(form), nil
}
