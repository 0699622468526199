package row

import "strings"

// Names of the attributes of a row. All except series and ts begin with "_". No name of a field
// begins with "_". The fields "series" and "ts" have the attributes "_series" and "_ts".
const (
	AttrSeries = "series"
	AttrTS     = "ts"
	AttrIDs    = "_ids"
	AttrAt     = "_at"
	AttrScale  = "_scale"
	AttrTTL    = "_ttl"
	AttrSize   = "_size"
	AttrErased = "_erased" // the row is closed, and its readings were erased
)

func fieldAttr(name string) string {
	if name == AttrSeries || name == AttrTS {
		return "_" + name
	}
	return name
}

// fieldName returns the name of the field of an attribute, or false if the attribute is not a
// field.
func fieldName(attr string) (name string, ok bool) {
	if rest, escaped := strings.CutPrefix(attr, "_"); escaped {
		return rest, rest == AttrSeries || rest == AttrTS
	}
	return attr, attr != AttrSeries && attr != AttrTS
}
