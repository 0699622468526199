package varve

import "github.com/varvedb/varve/internal/canonjson"

// MaxJSONDepth is how deep the objects and arrays of a JSON value may be nested.
const MaxJSONDepth = canonjson.MaxDepth

// JSONValue returns the JSON object or array in text as a value, in canonical
// form: no white space, members sorted by name, numbers without superfluous
// zeros. It fails on any other text, invalid UTF-8, a member that occurs twice,
// a number that a [Number] cannot hold, and nesting deeper than MaxJSONDepth.
func JSONValue(text []byte) (Value, error) {
	form, err := canonjson.Format(text)
	if err != nil {
		return Value{}, err
	}
	return CanonicalJSON(form), nil
}
