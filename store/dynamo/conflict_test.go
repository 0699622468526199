package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/tests/dynamotest"
)

// named returns n readings with the same event time. Each has its own id, and a text of the given
// number of bytes.
func named(at time.Time, n, bytes int, text string) (list []varve.Reading) {
	for i := range n {
		r := sensor(at, "v", varve.StringValue(strings.Repeat(text, bytes)))
		id, err := varve.ParseID(fmt.Sprint("m", i))
		if err != nil {
			panic(err)
		}
		r.ID = id
		list = append(list, r)
	}
	return list
}

// TestWrite_ComparesWithoutFurtherRequests counts the requests and write units of duplicates and conflicts
// in new and existing rows. The comparison with the stored values must need no request of its own.
func TestWrite_ComparesWithoutFurtherRequests(t *testing.T) {
	t.Parallel()
	s := open(t, dynamotest.Dynoxide.Start(t), time.Now)
	tb := newTable(t, s)
	at := func(ms int) time.Time { return someTime.Add(time.Duration(ms) * time.Millisecond) }
	asNew, asExisting := store.Layout{Expect: store.ExpectNew}, store.Layout{Expect: store.ExpectExisting}
	for _, c := range []struct {
		what     string
		layout   store.Layout
		readings []varve.Reading
		want     varve.Verdict // expected verdict of each reading
		requests int64
		units    float64
	}{
		{"new", asNew, named(at(0), 2, 10, "x"), varve.Verdict{Outcome: varve.Stored}, 1, 1},
		{"a duplicate", asNew, named(at(0), 2, 10, "x"), varve.Verdict{Outcome: varve.Duplicate}, 1, 1},
		{"a conflict", asNew, named(at(0), 2, 10, "y"), varve.Verdict{Code: varve.CodeConflict}, 1, 1},
		{"new, with expected rows", asExisting, named(at(1), 2, 10, "x"), varve.Verdict{Outcome: varve.Stored}, 2, 2},
		{"a duplicate in an expected row", asExisting, named(at(1), 2, 10, "x"), varve.Verdict{Outcome: varve.Duplicate}, 1, 1},
		{"a conflict in an expected row", asExisting, named(at(1), 2, 10, "y"), varve.Verdict{Code: varve.CodeConflict}, 1, 1},
		{"a closed row", asNew, named(at(2), 4, 500, "x"), varve.Verdict{Outcome: varve.Stored}, 1, 3},
		{"a duplicate in a closed row", asNew, named(at(2), 4, 500, "x"), varve.Verdict{Outcome: varve.Duplicate}, 0, 0},
		{"a conflict in a closed row", asNew, named(at(2), 4, 500, "y"), varve.Verdict{Code: varve.CodeConflict}, 1, 3},
		{"a second duplicate in a closed row", asNew, named(at(2), 4, 500, "x"), varve.Verdict{Outcome: varve.Duplicate}, 0, 0},
	} {
		var verdicts []varve.Verdict
		requests, units := measure(s, func() {
			b := store.Batch{Table: tb, Readings: c.readings, Layout: func(varve.Series) store.Layout { return c.layout }}
			verdicts = s.Write(t.Context(), []store.Batch{b})[0].Verdicts
		})
		for i, v := range verdicts {
			if v.Code != c.want.Code || c.want.Code == "" && v != c.want {
				t.Errorf("%s: reading %d is %s, want %s", c.what, i, v, c.want)
			}
		}
		if requests != c.requests || units > c.units {
			t.Errorf("%s: %d requests, %v units; want %d and at most %v", c.what, requests, units, c.requests, c.units)
		}
	}
}

// TestWrite_FindsConflictsInRowsClosedByBlindUpdates fills a row with blind updates, which do not read it,
// until the row is closed and takes no further readings. The client chose the ids of the readings. A
// later write with other values for these ids must be rejected.
func TestWrite_FindsConflictsInRowsClosedByBlindUpdates(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			s := open(t, e.Start(t), time.Now)
			tb := newTable(t, s)
			l := store.Layout{Expect: store.ExpectExisting}
			x, y := named(someTime, 6, 300, "x"), named(someTime, 6, 300, "y")
			for i := range x {
				if got := writeWith(t, s, tb, l, x[i]); got != "s" {
					t.Fatalf("reading %d: verdict %s, want s", i, got)
				}
			}
			if got := writeWith(t, s, tb, l, x...); got != "dddddd" {
				t.Errorf("resent: verdicts %s, want dddddd", got)
			}
			requests, _ := measure(s, func() {
				if got := writeWith(t, s, tb, l, x[:3]...); got != "ddd" {
					t.Errorf("resent once more: verdicts %s, want ddd", got)
				}
			})
			if requests != 0 {
				t.Errorf("duplicates in a cached closed row took %d requests, want 0", requests)
			}
			mixed := []varve.Reading{y[0], x[0], x[5], y[5], x[2]}
			if got := writeWith(t, s, tb, l, mixed...); got != "rddrd" {
				t.Errorf("with other values: %s, want rddrd", got)
			}
		})
	}
}
