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
		{"t>.5", true},
		{"t>-.5", true},
		{"t<20.", false},
		{"t>20.", true},
		{"zero=0.", true},
		{"level!=.", true}, // a point without digits is a string, and so is -x
		{"level!=-x", true},
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
		{"t==30", "use ="},
		{"t<>30", "use !="},
		{"t=>30", "use >="},
		{"t=<30", "use <="},
		{"t>+5", "not a decimal number: write a number as in -0.5 or 2e3, or put a text in double quotes"},
		{"t>0x10", "not a decimal number"},
		{"t>20,5", "not a decimal number"},
		{"t>5°C", "not a decimal number"},
		{"t=2026-11-22", "not a decimal number"},
		{"t>-.5.", "not a decimal number"},
		{"t<1e200", "outside 1e-130 to 9.99e125"},
		{"level='error'", "use double quotes"},
		{"'level'=error", "use double quotes"},
		{"on=True", "write true"},
		{"t>x,level=error or x=1", "join conditions by and"},
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

// TestProfile_ExplainsEmptyAnswers checks the messages about fields that are missing, or that have
// other kinds of values. A field has no message if one of its values is of the same kind as the
// value of the condition.
func TestProfile_ExplainsEmptyAnswers(t *testing.T) {
	r := sample(t)
	for _, tt := range []struct{ text, unseen, mismatch string }{
		{"t>40 and level=debug", "", ""},
		{"missing>1 and t>1 and missing<3", "missing", ""},
		{"level>5", "", `field "level": its values here are of the kind string, and "5" is a number: put the value in quotes`},
		{"t>abc", "", `field "t": its values here are of the kind number, and "abc" is text: write a number`},
		{"on=1", "", `field "on": its values here are of the kind boolean, and "1" is a number: write a boolean`},
		{"place=1", "", "use a field with numbers, strings or booleans"},
	} {
		f, err := filter.Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		var sum filter.Profile
		for range 2 {
			s := filter.NewProfile(f)
			s.Add(r)
			sum.Merge(s)
		}
		unseen, mismatch := strings.Join(sum.UnseenFields(), " "), strings.Join(sum.Mismatches(), "; ")
		if unseen != tt.unseen || !strings.Contains(mismatch, tt.mismatch) || (mismatch == "") != (tt.mismatch == "") || sum.Readings != 2 {
			t.Errorf("%s: unseen %q and %q, want %q and %q", tt.text, unseen, mismatch, tt.unseen, tt.mismatch)
		}
		if n := filter.NewProfile(f); len(n.UnseenFields()) != 0 || len(n.Mismatches()) != 0 {
			t.Errorf("%s: messages without a reading", tt.text)
		}
		number, err := filter.Parse("level>5")
		if err != nil {
			t.Fatal(err)
		}
		s := filter.NewProfile(number)
		s.Add(r)
		s.Add(&varve.Reading{Fields: []varve.Field{{Name: "level", Value: varve.IntValue(1)}}})
		if m := s.Mismatches(); len(m) > 0 {
			t.Errorf("a number among strings: %v", m)
		}
	}
}

// FuzzParse checks that no text causes a panic, and that the text of a parsed filter parses to an
// equal filter.
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
