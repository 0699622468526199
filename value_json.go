package varve

import "github.com/varvedb/varve/internal/canonjson"

// MaxJSONDepth is the maximum nesting of objects and arrays in a JSON value.
const MaxJSONDepth = canonjson.MaxDepth

// JSONValue returns a JSON object or array as a value in canonical form.
//
// The form has no white space, sorted members, and numbers without superfluous zeros. JSONValue
// fails for JSON that is not an object or array, invalid UTF-8, a member that occurs twice, a
// number that is not a valid [Number], and nesting deeper than MaxJSONDepth.
func JSONValue(text []byte) (Value, error) {
	form, err := canonjson.Format(text)
	if err != nil {
		return Value{}, err
	}
	return CanonicalJSON(form), nil
}
