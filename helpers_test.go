package varve_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// tb has the methods that helpers use. Tests, fuzz targets and rapid properties receive a value
// that implements it.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

func number(t tb, text string) varve.Number {
	t.Helper()
	n, err := decimal.Parse(text)
	if err != nil {
		t.Fatalf("number %s: %v", text, err)
	}
	return n
}

func zeros(n int) string { return strings.Repeat("0", n) }

func nines(n int) string { return strings.Repeat("9", n) }

func jsonValue(t tb, text string) varve.Value {
	t.Helper()
	v, err := varve.JSONValue([]byte(text))
	if err != nil {
		t.Fatalf("JSON %s: %v", text, err)
	}
	return v
}

func field(name string, v varve.Value) varve.Field { return varve.Field{Name: name, Value: v} }

func text(s string) varve.Value { return varve.StringValue(s) }

func num(t tb, s string) varve.Value {
	t.Helper()
	return varve.NumberValue(number(t, s))
}

// contentID returns the id of a reading that has these fields and was sent without an id.
func contentID(t tb, fields ...varve.Field) varve.ID {
	t.Helper()
	r := varve.Reading{Series: sensor, Time: noon, Fields: slices.Clone(fields)}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		t.Fatalf("%v: %s", fields, v)
	}
	return r.ID
}

var (
	sensor = varve.Series{Tenant: "acme", Stream: "weather", Device: "sensor_01"}
	noon   = time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
)

// reading returns a reading of sensor at noon with a single field, which is a number.
func reading(t tb, name, value string) varve.Reading {
	t.Helper()
	return varve.Reading{Series: sensor, Time: noon, Fields: []varve.Field{field(name, num(t, value))}}
}

// checkMany calls rapid.Check 10 times for a property, or 5 times in short mode.
func checkMany(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	rounds := 10
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		rapid.Check(t, property)
	}
}
