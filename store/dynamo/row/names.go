package row

import "strings"

// Names of the attributes of a row. Names of fields never begin with "_". The fields
// "series" and "ts" get a "_" in front.
const (
	AttrSeries = "series"
	AttrTS     = "ts"
	AttrIDs    = "_ids"
	AttrAt     = "_at"
	AttrScale  = "_scale"
	AttrTTL    = "_ttl"
	AttrSize   = "_size"
)

// fieldAttr returns the attribute of a field.
func fieldAttr(name string) string {
	if name == AttrSeries || name == AttrTS {
		return "_" + name
	}
	return name
}

// fieldName returns the field of an attribute, or false if the attribute is not a field.
func fieldName(attr string) (name string, ok bool) {
	if rest, escaped := strings.CutPrefix(attr, "_"); escaped {
		return rest, rest == AttrSeries || rest == AttrTS
	}
	return attr, attr != AttrSeries && attr != AttrTS
}
