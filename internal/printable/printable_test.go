package printable_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/internal/printable"
)

func TestProblem_NamesFirstProblem(t *testing.T) {
	tests := []struct{ reason, in, want string }{
		{"visible ASCII", "sensor_01/a:b", ""},
		{"other scripts", "Würzburg 3", ""},
		{"as long as allowed", strings.Repeat("a", 16), ""},
		{"empty", "", "is empty"},
		{"too long", strings.Repeat("a", 17), "has 17 bytes, the limit is 16"},
		{"invalid UTF-8", "a\xff", "is not valid UTF-8"},
		{"space at the end", "a ", "has space around it"},
		{"control character", "a\x1bb", "has a character that cannot be printed"},
		{"line separator", "a\u2028b", "has a character that cannot be printed"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := printable.Problem(tt.in, 16); got != tt.want {
				t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}
