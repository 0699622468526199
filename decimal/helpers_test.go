package decimal_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/decimal"
)

// tb is the part of a test, a fuzz target or a property that helpers use.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

func number(t tb, text string) decimal.Number {
	t.Helper()
	n, err := decimal.Parse(text)
	if err != nil {
		t.Fatalf("number %s: %v", text, err)
	}
	return n
}

func zeros(n int) string { return strings.Repeat("0", n) }

func nines(n int) string { return strings.Repeat("9", n) }

// checkMany checks a property for more inputs than the 100 of one check.
func checkMany(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	rounds := 30
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		rapid.Check(t, property)
	}
}
