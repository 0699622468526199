package wire

import "strings"

// formats lists the formats by the names of the parameter format.
var formats = []struct {
	name   string
	format Format
	bodies bool // of requests, too
}{
	{"json", JSON, true},
	{"ndjson", NDJSON, true},
	{"csv", CSV, true},
	{"columns", ColumnJSON, false},
}

// ParseFormat returns the format of an answer with the given name, such as ndjson.
func ParseFormat(name string) (Format, bool) {
	for _, f := range formats {
		if f.name == name {
			return f.format, true
		}
	}
	return 0, false
}

// ParseBodyFormat returns the format of a request with the given name.
func ParseBodyFormat(name string) (Format, bool) {
	for _, f := range formats {
		if f.name == name && f.bodies {
			return f.format, true
		}
	}
	return 0, false
}

// FormatNames returns the names that ParseFormat accepts, as in "json, ndjson or csv".
func FormatNames() string { return namesOf(false) }

// BodyFormatNames returns the names that ParseBodyFormat accepts.
func BodyFormatNames() string { return namesOf(true) }

func namesOf(bodies bool) string {
	var names []string
	for _, f := range formats {
		if f.bodies || !bodies {
			names = append(names, f.name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
