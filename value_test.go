package varve_test

import (
	"testing"

	"github.com/varvedb/varve"
)

// values returns values by name. No two of them are equal.
func values(t tb) map[string]varve.Value {
	return map[string]varve.Value{
		"none":            {},
		"number 0":        varve.IntValue(0),
		"number 1":        varve.IntValue(1),
		"number -1":       varve.IntValue(-1),
		"number 1.5":      varve.NumberValue(number(t, "1.5")),
		"string":          varve.StringValue("a"),
		"empty string":    varve.StringValue(""),
		"string 1":        varve.StringValue("1"),
		"string true":     varve.StringValue("true"),
		"string like []":  varve.StringValue("[]"),
		"true":            varve.BoolValue(true),
		"false":           varve.BoolValue(false),
		"JSON array":      jsonValue(t, `[]`),
		"JSON array of 1": jsonValue(t, `[1]`),
		"JSON object":     jsonValue(t, `{}`),
	}
}

func TestValue_EqualComparesContent(t *testing.T) {
	for a, v := range values(t) {
		for b, w := range values(t) {
			if got := v.Equal(w); got != (a == b) {
				t.Errorf("%s equals %s: %t", a, b, got)
			}
		}
	}
	if !varve.NumberValue(number(t, "42.0")).Equal(varve.IntValue(42)) {
		t.Error("42.0 is not 42")
	}
}

// TestValue_AnswersForItsKindOnly checks that a getter for another kind returns a zero value.
func TestValue_AnswersForItsKindOnly(t *testing.T) {
	tests := []struct {
		reason string
		v      varve.Value
		kind   varve.Kind
		name   string
		number string
		truth  bool
		text   string
		str    string
	}{
		{"no value", varve.Value{}, 0, "no value", "0", false, "", ""},
		{"a number keeps its scale", varve.NumberValue(number(t, "42.0")), varve.KindNumber, "number", "42.0", false, "", "42.0"},
		{"one is not true", varve.IntValue(1), varve.KindNumber, "number", "1", false, "", "1"},
		{"a string", varve.StringValue("on"), varve.KindString, "string", "0", false, "on", "on"},
		{"a string is not trimmed or quoted", varve.StringValue(" \"\n"), varve.KindString, "string", "0", false, " \"\n", " \"\n"},
		{"true is not one", varve.BoolValue(true), varve.KindBool, "boolean", "0", true, "", "true"},
		{"false", varve.BoolValue(false), varve.KindBool, "boolean", "0", false, "", "false"},
		{"JSON", jsonValue(t, `{ "b":1.0, "a":[] }`), varve.KindJSON, "JSON", "0", false, `{"a":[],"b":1}`, `{"a":[],"b":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			v := tt.v
			if v.Kind() != tt.kind || v.Kind().String() != tt.name || v.IsZero() != (tt.kind == 0) {
				t.Errorf("kind %d (%s), zero %t", v.Kind(), v.Kind(), v.IsZero())
			}
			if v.Number().String() != tt.number || v.Bool() != tt.truth || v.Text() != tt.text || v.String() != tt.str {
				t.Errorf("number %s, truth %t, text %q, written %q", v.Number(), v.Bool(), v.Text(), v.String())
			}
		})
	}
}

// TestCanonicalJSON_RestoresStoredText checks that CanonicalJSON makes an equal value from a
// value's text.
func TestCanonicalJSON_RestoresStoredText(t *testing.T) {
	v := jsonValue(t, `{"b": [1, "x"], "a": null}`)
	if got := varve.CanonicalJSON(v.Text()); !got.Equal(v) {
		t.Errorf("got %s, want %s", got, v)
	}
}
