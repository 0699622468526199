package filter_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/filter"
)

// sample returns a reading with a field of each kind.
func sample(t *testing.T) *varve.Reading {
	t.Helper()
	number, err := decimal.Parse("30.000000000000000000000000000000000001")
	if err != nil {
		t.Fatal(err)
	}
	place, err := varve.JSONValue([]byte(`{"lat":52.5}`))
	if err != nil {
		t.Fatal(err)
	}
	return &varve.Reading{Fields: []varve.Field{
		{Name: "code", Value: varve.StringValue("30")}, {Name: "level", Value: varve.StringValue("error")},
		{Name: "odd name", Value: varve.StringValue(`say "and"`)}, {Name: "on", Value: varve.BoolValue(true)},
		{Name: "place", Value: place}, {Name: "t", Value: varve.NumberValue(number)}, {Name: "zero", Value: varve.IntValue(0)},
	}}
}

func TestFilter_MatchesExactly(t *testing.T) {
	r := sample(t)
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"t>30", true},
		{"t<=30", false},
		{"t=30", false},
		{"t = 30.0000000000000000000000000000000000010", true},
		{"t >= 3.0000000000000000000000000000000000001e1", true},
		{"zero=0.00", true},
		{"zero=-0", true},
		{"zero<0", false},
		{"level=error", true},
		{"level!=error", false},
		{"level>debug AND level<fatal", true},
		{"code=30", false}, // the field is a string
		{`code="30"`, true},
		{"code!=30", true},
		{"code>29", false},
		{"on=true", true},
		{"on!=false", true},
		{`on="true"`, false},
		{`"odd name"="say \"and\""`, true},
		{"place=1", false},
		{"place!=1", true},
		{"missing=1", false},
		{"missing!=1", false}, // a missing field never matches
		{"missing<1", false},
		{"t>30 and level=error and on=true", true},
		{"t>30 and level=debug", false},
	} {
		f, err := filter.Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := f.Matches(r); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.text, got, tt.want)
		}
	}
	both, err := filter.Parse("t>30", "level=debug")
	if err != nil || both.Matches(r) || len(both) != 2 {
		t.Errorf("two texts: %v %v", both, err)
	}
	if none, err := filter.Parse(); err != nil || !none.Matches(r) {
		t.Errorf("no text: %v %v", none, err)
	}
}

func TestParse_NamesProblem(t *testing.T) {
	for _, tt := range []struct{ text, problem string }{
		{"", "a field is missing"},
		{"  ", "a field is missing"},
		{"t", "an operator is missing"},
		{"t 30", "an operator is missing"},
		{"t>", "a value is missing"},
		{"t>30 and", "a field is missing"},
		{"t>30 level=error", "join conditions by and"},
		{"t==30", "a value is missing"},
		{"t>30,level=error or x=1", "join conditions by and"},
		{"on>true", "has no order"},
		{`t="30`, "closing quote"},
		{`"`, "closing quote"},
		{`""=1`, "a field is empty"},
		{strings.Repeat("a=1 and ", 16) + "a=1", "17 conditions exceed the limit 16"},
		{"a=" + strings.Repeat("x", 4096), "the limit is 4096"},
	} {
		if f, err := filter.Parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%.60q: %v %v, want an error with %q", tt.text, f, err, tt.problem)
		}
	}
}

// FuzzParse checks that no text panics, and that a parsed filter can be written and parsed again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"t>30 and level=error", `"a b">="x\"y"`, "a!=true", "a=1e5 AND b<\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := filter.Parse(text)
		if err != nil {
			return
		}
		again, err := filter.Parse(parsed.String())
		if err != nil || len(again) != len(parsed) {
			t.Fatalf("%q: %q: %v", text, parsed, err)
		}
		for i := range parsed {
			a, b := parsed[i], again[i]
			if a.Field != b.Field || a.Operator != b.Operator || !a.Value.Equal(b.Value) {
				t.Fatalf("%q: %+v became %+v", text, a, b)
			}
		}
	})
}
