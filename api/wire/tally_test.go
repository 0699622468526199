package wire_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// TestTally_AddsUp checks that each verdict is counted once, and that the sum of two tallies
// equals the tally of all verdicts.
func TestTally_AddsUp(t *testing.T) {
	gen := rapid.SliceOf(rapid.SampledFrom([]varve.Verdict{
		{Outcome: varve.Stored}, {Outcome: varve.Duplicate}, varve.Reject(varve.CodeMalformed, "x"), varve.Reject(varve.CodeUnavailable, "y"),
	}))
	rapid.Check(t, func(t *rapid.T) {
		verdicts := gen.Draw(t, "verdicts")
		cut := rapid.IntRange(0, len(verdicts)).Draw(t, "cut")
		var whole, first, second wire.Tally
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
	text, err := json.Marshal(wire.Tally{Stored: 2, Duplicates: 1, Rejected: 3})
	if want := `{"stored":2,"duplicates":1,"rejected":3}`; err != nil || string(text) != want {
		t.Errorf("in JSON: %s, %v, want %s", text, err, want)
	}
}
