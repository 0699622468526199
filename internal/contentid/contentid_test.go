package contentid_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/contentid"
)

// TestAppend_HasDocumentedForm compares the form of each kind with its bytes.
func TestAppend_HasDocumentedForm(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, got, want string
	}{
		{"name", string(contentid.AppendName(nil, "on")), "\x02on"},
		{"string", string(contentid.AppendString(nil, "1")), "s\x011"},
		{"long string", string(contentid.AppendString(nil, long)), "s\xac\x02" + long},
		{"JSON", string(contentid.AppendJSON(nil, "[1]")), "j\x03[1]"},
		{"true", string(contentid.AppendBool(nil, true)), "t"},
		{"false", string(contentid.AppendBool(nil, false)), "f"},
		{"number 3", string(contentid.AppendNumber(nil, decimal.FromInt(3))), "n\x00\x03\x00"},
		{"number 300", string(contentid.AppendNumber(nil, decimal.FromInt(300))), "n\x08\x03\x00"},
		{"number -0.30", string(contentid.AppendNumber(nil, decimal.FromScaled(-30, -2))), "n\x01\x03\x00"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}
