package query_test

import (
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
)

// TestCoverage_CountsCopiesWithOtherValues checks that the copy with the first arrival is returned.
// Each returned reading that has later copies with other values must count as one conflict.
func TestCoverage_CountsCopiesWithOtherValues(t *testing.T) {
	w := newWorld(t, 365*day, 365*day, 2)
	month := start.AddDate(0, 1, 0)
	for _, r := range []varve.Reading{
		reading("a", start, start, "same", 1), reading("a", start, month, "same", 1),
		reading("a", start, month, "later", 20), reading("a", start, start, "later", 999),
		reading("a", start, start.AddDate(0, 2, 0), "later", 5),
		reading("a", start, month, "only", 3),
		reading("a", start, month, "", 4), reading("a", start, start, "", 4),
	} {
		w.put(t, retention.DefaultClass, r)
	}
	w.clock = start.AddDate(0, 2, 1)
	for _, tt := range []struct {
		why   string
		limit int
		want  int
	}{
		{"all", 0, 1}, {"those before it", 1, 0}, {"up to it", 2, 1},
	} {
		rows, err := w.engine.Open(t.Context(), query.Query{Series: device("a"), Window: varve.AllTime(), Limit: tt.limit})
		if err != nil {
			t.Fatal(err)
		}
		for {
			list, err := rows.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			for i := range list {
				if v := list[i].Field("value"); list[i].ID.String() == "later" && v != varve.IntValue(999) {
					t.Errorf("%s: %s is shown, want the first that arrived", tt.why, v)
				}
			}
		}
		if got := rows.Coverage().Conflicts; got != tt.want {
			t.Errorf("%s: %d conflicts, want %d", tt.why, got, tt.want)
		}
		rows.Close()
	}
}
