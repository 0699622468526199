package alerts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry/registrytest"
)

// named is a reading with an id of the client's own.
func named(second int, v int64) varve.Reading {
	r := valued(second, v)
	id, err := varve.ParseID(fmt.Sprint("at-", second))
	if err != nil {
		panic(err)
	}
	r.ID = id
	return r
}

// TestRetryWithOtherValues: what is sent again under its id with other values is
// a conflict. The values that are stored decide, whatever it says now.
func TestRetryWithOtherValues(t *testing.T) {
	bare := named(40, 0)
	bare.Fields = []varve.Field{{Name: "w", Value: varve.IntValue(1)}}
	for _, c := range []struct {
		reason string
		first  []varve.Reading
		fails  bool // its alerts cannot be looked after
		then   []varve.Reading
		want   string
	}{
		{"it holds, and says it does not, next to another", []varve.Reading{named(0, 9), named(20, 9), named(40, 9)}, false, []varve.Reading{named(40, 1), named(70, 9)}, "0-70-"},
		{"it does not hold, and says it does, next to another", []varve.Reading{named(0, 9), named(20, 9), named(40, 1)}, false, []varve.Reading{named(40, 9), named(70, 9)}, ""},
		{"it opens a run, and says it does not", []varve.Reading{named(0, 9), named(70, 9)}, true, []varve.Reading{named(70, 1)}, "0-70-"},
		{"it opens a run, and does not say", []varve.Reading{named(-40, 9), named(40, 9)}, true, []varve.Reading{bare}, "-40-40-"},
		{"it ends a run, and says it does not", []varve.Reading{named(0, 9), named(70, 9), named(80, 1)}, true, []varve.Reading{named(80, 9)}, "0-70-80"},
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
			if got := w.shown(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestRetryCost: of readings whose ids are made of their content, those that are
// sent again are known to be the same, and nothing is read for them.
func TestRetryCost(t *testing.T) {
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
	if got := strings.TrimSpace(w.shown()); got != "" {
		t.Error(got)
	}
}
