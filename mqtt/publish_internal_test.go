package mqtt

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/varvedb/varve"
)

// TestReasonOf_IsValidUTF8 checks that a reason is not cut within a character. A device must end a connection
// with an invalid string.
func TestReasonOf_IsValidUTF8(t *testing.T) {
	for n := range 4 {
		v := varve.Reject(varve.CodeFieldInvalid, "%s", strings.Repeat("x", n)+strings.Repeat("€", maxReason))
		if r := reasonOf(&v); !utf8.ValidString(r) || len(r) > maxReason || len(r) < maxReason-2 || !strings.HasPrefix(r, "field_invalid: ") {
			t.Errorf("a reason of %d bytes: %q", len(r), r)
		}
	}
}
