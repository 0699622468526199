package decimal_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/decimal"
)

// tb has the methods that helpers use. Tests, fuzz targets and rapid properties receive a value that
// implements it.
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

// checkMany checks a property with 30 times the inputs of one rapid.Check, or 10 times in short
// mode.
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
