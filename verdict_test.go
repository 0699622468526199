package varve_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

// TestVerdict_HasStableWords checks the texts of outcomes and codes. They are part of the API.
func TestVerdict_HasStableWords(t *testing.T) {
	tests := []struct {
		v    varve.Verdict
		want string
	}{
		{varve.Verdict{}, "undecided"},
		{varve.Verdict{Outcome: varve.Stored}, "stored"},
		{varve.Verdict{Outcome: varve.Duplicate}, "duplicate"},
		{varve.Reject(varve.CodeTooLarge, "%d bytes", 7), "rejected(too_large: 7 bytes)"},
		{varve.Reject(varve.CodeMalformed, "100%%"), "rejected(malformed: 100%)"},
	}
	for _, tt := range tests {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	codes := map[varve.Code]string{
		varve.CodeTimeMissing: "time_missing", varve.CodeTimeInvalid: "time_invalid", varve.CodeTimeUnit: "time_unit",
		varve.CodeTimeInFuture: "time_in_future", varve.CodeTimeTooOld: "time_too_old", varve.CodeStreamInvalid: "stream_invalid",
		varve.CodeDeviceInvalid: "device_invalid", varve.CodeIDInvalid: "id_invalid", varve.CodeFieldInvalid: "field_invalid",
		varve.CodeTooLarge: "too_large", varve.CodeMalformed: "malformed", varve.CodeUnavailable: "unavailable",
		varve.CodeConflict: "conflict",
	}
	for code, want := range codes {
		if string(code) != want {
			t.Errorf("code %s, want %s", code, want)
		}
		if code.Retryable() != (code == varve.CodeUnavailable) {
			t.Errorf("%s is worth sending again: %t", code, code.Retryable())
		}
	}
}

// TestTally_AddsUp checks that each verdict is counted once, and that the sum of two tallies
// equals the tally of all verdicts.
func TestTally_AddsUp(t *testing.T) {
	gen := rapid.SliceOf(rapid.SampledFrom([]varve.Verdict{
		{Outcome: varve.Stored}, {Outcome: varve.Duplicate}, varve.Reject(varve.CodeMalformed, "x"), varve.Reject(varve.CodeUnavailable, "y"),
	}))
	rapid.Check(t, func(t *rapid.T) {
		verdicts := gen.Draw(t, "verdicts")
		cut := rapid.IntRange(0, len(verdicts)).Draw(t, "cut")
		var whole, first, second varve.Tally
		want := map[varve.Outcome]int64{}
		for i, v := range verdicts {
			want[v.Outcome]++
			whole.Count(v)
			if i < cut {
				first.Count(v)
			} else {
				second.Count(v)
			}
		}
		if whole.Stored != want[varve.Stored] || whole.Duplicates != want[varve.Duplicate] || whole.Rejected != want[varve.Rejected] {
			t.Fatalf("%v are counted as %+v", verdicts, whole)
		}
		if whole.Total() != int64(len(verdicts)) {
			t.Fatalf("%d verdicts, a total of %d", len(verdicts), whole.Total())
		}
		if first.Add(second); first != whole {
			t.Fatalf("the parts add up to %+v, want %+v", first, whole)
		}
	})
	text, err := json.Marshal(varve.Tally{Stored: 2, Duplicates: 1, Rejected: 3})
	if want := `{"stored":2,"duplicates":1,"rejected":3}`; err != nil || string(text) != want {
		t.Errorf("in JSON: %s, %v, want %s", text, err, want)
	}
}
