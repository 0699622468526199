package snippet_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/internal/snippet"
)

// TestSnippet_AppendsText appends texts of all lengths to slices with and without spare capacity.
func TestSnippet_AppendsText(t *testing.T) {
	for n := range 100 {
		text := strings.Repeat("abc", n)[:n]
		s := snippet.Of([]byte(text))
		for spare := range 100 {
			dst := append(make([]byte, 0, 3+spare), "dst"...)
			if got := string(s.AppendTo(dst)); got != "dst"+text {
				t.Fatalf("with a capacity of %d: %q, want dst and %q", cap(dst), got, text)
			}
		}
	}
}
