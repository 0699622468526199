package alerts

import (
	"slices"
	"testing"
	"time"
)

// TestRetirements_SurviveText formats retirements as text, and parses the text. The result must be
// equal. The first retirement is of an early version of Varve, and has no generation.
func TestRetirements_SurviveText(t *testing.T) {
	at := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	want := []retirement{{reason: ByRuleChanged, at: at, passed: true}, {generation: "c1", reason: ByRuleDeleted, at: at.Add(time.Second)}}
	got, err := parseRetirements(retirementsText(want))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v: %v", got, want, err)
	}
	for _, bad := range []string{"c1", "c1 changed yesterday true", "c1 changed 2026-11-16T12:00:00.000Z perhaps"} {
		if list, err := parseRetirements(bad); err == nil {
			t.Errorf("%q is parsed as %+v", bad, list)
		}
	}
}
