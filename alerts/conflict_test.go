package alerts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry/registrytest"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

// named returns a reading with an id that the client chose.
func named(second int, v int64) varve.Reading {
	r := valued(second, v)
	id, err := varve.ParseID(fmt.Sprint("at-", second))
	if err != nil {
		panic(err)
	}
	r.ID = id
	return r
}

// TestConflict_CountsStoredValues resends readings with other values under the same id. The
// alerts must follow from the stored values.
func TestConflict_CountsStoredValues(t *testing.T) {
	bare := named(40, 0)
	bare.Fields = []varve.Field{{Name: "w", Value: varve.IntValue(1)}}
	for _, c := range []struct {
		reason string
		first  []varve.Reading
		fails  bool // records cannot be written while the first readings are sent
		then   []varve.Reading
		want   string
	}{
		{"stored above, resent below, next to another", []varve.Reading{named(0, 9), named(20, 9), named(40, 9)}, false, []varve.Reading{named(40, 1), named(70, 9)}, "0-70-"},
		{"stored below, resent above, next to another", []varve.Reading{named(0, 9), named(20, 9), named(40, 1)}, false, []varve.Reading{named(40, 9), named(70, 9)}, ""},
		{"opens an episode, resent below", []varve.Reading{named(0, 9), named(70, 9)}, true, []varve.Reading{named(70, 1)}, "0-70-"},
		{"opens an episode, resent without the field", []varve.Reading{named(-40, 9), named(40, 9)}, true, []varve.Reading{bare}, "-40-40-"},
		{"ends an episode, resent above", []varve.Reading{named(0, 9), named(70, 9), named(80, 1)}, true, []varve.Reading{named(80, 9)}, "0-70-80"},
		{"both in one write", nil, false, []varve.Reading{named(0, 9), named(70, 9), named(70, 1)}, "0-70-"},
		{"both in one write, the other first", nil, false, []varve.Reading{named(0, 9), named(70, 1), named(70, 9)}, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			w.rule(above(5, time.Minute))
			if c.fails {
				w.items.FailWrites(registrytest.FailOn("RUN#"))
			}
			w.send(c.first...)
			w.items.FailWrites(nil)
			for i, v := range w.send(c.then...) {
				if v.Outcome == varve.Rejected && v.Code != varve.CodeConflict {
					t.Errorf("%s: %s", c.then[i].ID, v)
				}
			}
			if got := w.summary(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestResentReadings_AreNotRead checks that stored readings are not read for duplicates with
// content ids. Their values are known to be equal.
func TestResentReadings_AreNotRead(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, time.Minute))
	var all []varve.Reading
	for i := range 100 {
		all = append(all, valued(i, 1))
	}
	w.send(all...)
	before := w.read
	if v := w.send(all...); v[0].Outcome != varve.Duplicate || w.read != before {
		t.Errorf("%s: %d readings are read", v[0], w.read-before)
	}
	if got := strings.TrimSpace(w.summary()); got != "" {
		t.Error(got)
	}
}
