package quote_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/internal/quote"
)

func TestText_CutsBetweenCharacters(t *testing.T) {
	tests := []struct{ reason, in, want string }{
		{"short", "abc", `"abc"`},
		{"control characters are escaped", "a\x1b[2J", `"a\x1b[2J"`},
		{"as long as can be shown", strings.Repeat("a", quote.Max), `"` + strings.Repeat("a", quote.Max) + `"`},
		{"longer", strings.Repeat("a", quote.Max+1), `"` + strings.Repeat("a", quote.Max) + `"…`},
		{"a cut inside a character", strings.Repeat("a", quote.Max-1) + "éé", `"` + strings.Repeat("a", quote.Max-1) + `"…`},
		{"no character boundary", strings.Repeat("\x80", quote.Max+1), `""…`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := quote.Text(tt.in); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCut_CutsBetweenCharacters(t *testing.T) {
	for n, want := range []string{"", "a", "a", "a", "a€", "a€b", "a€b"} {
		if got := quote.Cut("a€b", n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}
