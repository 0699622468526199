package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
)

// latest is an oracle. It returns the last of the distinct live readings of a series.
func (w *world) latest(s varve.Series, by varve.By) (varve.Reading, bool) {
	return lastOf(w.distinct(s), by)
}

func lastOf(all []varve.Reading, by varve.By) (last varve.Reading, found bool) {
	all = newest(all)
	for i := range all {
		if i == 0 || by.Later(&all[i], &last) {
			last = all[i]
		}
	}
	return last, len(all) > 0
}

// TestLatest_AgreesWithOracle checks the latest reading by event time and by arrival, for one
// device and for many, with any distribution of copies. Expired readings are included on
// request.
func TestLatest_AgreesWithOracle(t *testing.T) {
	check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range 3 {
			q := query.LatestQuery{
				Series:     device("a"),
				By:         rapid.SampledFrom([]varve.By{varve.ByEvent, varve.ByArrival}).Draw(t, "by"),
				Fields:     rapid.SampledFrom([][]string{nil, {"value"}, {"absent"}}).Draw(t, "fields"),
				Consistent: rapid.Bool().Draw(t, "consistent"),
				Expired:    rapid.Bool().Draw(t, "expired"),
				AsOf:       drawAsOf(t, w),
			}
			one, err := w.engine.Latest(context.Background(), q)
			if err != nil {
				t.Fatalf("%v", err)
			}
			w.checkLatest(t, one, q)
			devices := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "nobody"}), 0, 5).Draw(t, "devices")
			many, err := w.engine.LatestOf(context.Background(), q, devices)
			if err != nil || len(many) != len(devices) {
				t.Fatalf("%d answers, %v", len(many), err)
			}
			for i, dev := range devices {
				q.Series = device(dev)
				w.checkLatest(t, many[i], q)
			}
			w.pass(t)
		}
	})
}

func (w *world) checkLatest(t *rapid.T, got query.LatestAnswer, q query.LatestQuery) {
	t.Helper()
	want, found := lastOf(w.distinctAsOf(q.Series, q.AsOf), q.By)
	if q.Expired {
		want, found = lastOf(w.first(q.Series, func(c *stored) bool { return q.AsOf.IsZero() || !c.reading.Arrived.After(q.AsOf) }), q.By)
	}
	want = project(want, q.Fields)
	if got.Series != q.Series || got.Found != found || found && !got.Reading.Equal(&want) {
		t.Fatalf("%s by %s:\n got %v %s\nwant %v %s", q.Series, q.By, got.Found, show(&got.Reading), found, show(&want))
	}
	seen := map[string]bool{}
	for _, name := range slices.Concat(got.Coverage.Read, got.Coverage.Expired, got.Coverage.Missing) {
		if _, ok := grid.Parse(name); !ok || seen[name] {
			t.Fatalf("coverage has %s, or has it twice: %+v", name, got.Coverage)
		}
		seen[name] = true
	}
	if found && len(got.Coverage.Read) == 0 || len(got.Coverage.Failed) > 0 {
		t.Fatalf("coverage of a found reading: %+v", got.Coverage)
	}
}

// TestLatest_ComparesCopiesOfParallelReads reads three tables at the same time. One table has the last
// copy of a reading, and another has its first copy. The third table has another reading, which must be
// the result, because a reading counts by the arrival of its first copy.
func TestLatest_ComparesCopiesOfParallelReads(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 8)
	on := func(month time.Month, d int) time.Time { return time.Date(2026, month, d, 12, 0, 0, 0, time.UTC) }
	tables := map[grid.Table]bool{}
	// The tables of these readings are read first, and have no reading of device a.
	for _, at := range []time.Time{on(1, 1), on(9, 20), on(10, 6)} {
		tables[w.put(t, retention.DefaultClass, reading("b", at, on(11, 1), "", 1))] = true
	}
	tables[w.put(t, retention.DefaultClass, reading("a", on(10, 20), on(11, 15), "", 1))] = true
	tables[w.put(t, retention.DefaultClass, reading("a", on(11, 9), on(11, 10), "", 2))] = true
	tables[w.put(t, retention.DefaultClass, reading("a", on(10, 20), on(10, 21), "", 1))] = true
	if len(tables) != 6 {
		t.Fatalf("%d tables", len(tables))
	}
	a, err := w.engine.Latest(t.Context(), query.LatestQuery{Series: device("a"), By: varve.ByArrival})
	if err != nil || !a.Reading.Arrived.Equal(on(11, 10)) {
		t.Errorf("%v %s", err, show(&a.Reading))
	}
}

// TestLatest_ReadsFewTables queries a device that reports daily. The query must read only tables of
// the newest arrival month: one by event time, and at most four by arrival.
func TestLatest_ReadsFewTables(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 1)
	var newest grid.Table
	for d := range 365 {
		at := start.Add(-time.Duration(364-d) * day)
		newest = w.put(t, retention.DefaultClass, reading("a", at, at, "", int64(d)))
	}
	for _, by := range []varve.By{varve.ByEvent, varve.ByArrival} {
		w.store.reads = nil
		a, err := w.engine.Latest(t.Context(), query.LatestQuery{Series: device("a"), By: by})
		if err != nil || !a.Reading.Time.Equal(start) {
			t.Fatalf("by %s: %v %s", by, err, show(&a.Reading))
		}
		// No table of another month may be read. By arrival, other tables of the newest month
		// may contain a later reading.
		month := 0
		for tb := range w.store.reads {
			if tb.Month != newest.Month {
				t.Errorf("by %s: read %s", by, tb)
			}
			month++
		}
		if by == varve.ByEvent && month != 1 || month > 4 {
			t.Errorf("by %s: read %d tables", by, month)
		}
	}
}

// TestLatest_ReturnsExpiredOnRequest checks that expired readings are found only on request. A reading is
// resent in another month, so that the query by arrival scans all readings.
func TestLatest_ReturnsExpiredOnRequest(t *testing.T) {
	w := newWorld(t, 10*day, 10*day, 1)
	at := start.AddDate(0, -2, 0)
	w.put(t, retention.DefaultClass, reading("a", at, at, "", 1))
	w.put(t, retention.DefaultClass, reading("a", at, at.AddDate(0, 1, 0), "", 1)) // resent a month later
	w.put(t, retention.DefaultClass, reading("a", at.Add(-day), at.Add(day), "", 2))
	for by, want := range map[varve.By]time.Time{varve.ByEvent: at, varve.ByArrival: at.Add(-day)} {
		for _, expired := range []bool{false, true} {
			a, err := w.engine.Latest(t.Context(), query.LatestQuery{Series: device("a"), By: by, Expired: expired})
			if err != nil || a.Found != expired || expired && !a.Reading.Time.Equal(want) {
				t.Errorf("by %s, expired %t: %v %t %s", by, expired, err, a.Found, show(&a.Reading))
			}
			if expired == (len(a.Coverage.Expired) > 0) {
				t.Errorf("by %s, expired %t: %+v", by, expired, a.Coverage)
			}
		}
	}
}

// TestLatest_CoverageListsAllTables checks that an answer by arrival lists every table that was
// read, including tables of earlier months.
func TestLatest_CoverageListsAllTables(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 1)
	at := start.AddDate(0, -1, 0)
	w.put(t, retention.DefaultClass, reading("a", at.Add(-time.Minute), at, "", 1)) // arrived last month
	w.put(t, retention.DefaultClass, reading("a", at, start, "", 2))
	a, err := w.engine.Latest(t.Context(), query.LatestQuery{Series: device("a"), By: varve.ByArrival})
	if err != nil || !a.Found || !a.Reading.Time.Equal(at) {
		t.Fatalf("%v %s", err, show(&a.Reading))
	}
	var read []string
	for tb := range w.store.reads {
		read = append(read, tb.Name())
	}
	slices.Sort(read)
	got := slices.Sorted(slices.Values(a.Coverage.Read))
	if len(read) != 2 || !slices.Equal(got, read) {
		t.Errorf("coverage\n got %v\nread %v", got, read)
	}
}

// TestLatest_FailsAtAnyRead lets each call of the store fail in turn. The query must return the error, and
// the coverage must name the table. The next query must succeed.
func TestLatest_FailsAtAnyRead(t *testing.T) {
	for _, by := range []varve.By{varve.ByEvent, varve.ByArrival} {
		for _, op := range []string{"latest", "read"} {
			for call := 1; ; call++ {
				w := newWorld(t, 500*day, retention.Forever, 2)
				for m := range 4 { // each month, the reading of the month before is resent, and a late reading arrives
					at := start.AddDate(0, -m, 0)
					w.put(t, retention.DefaultClass, reading("a", at.Add(-time.Hour), at.Add(-time.Hour), "", 1))
					w.put(t, retention.DefaultClass, reading("a", at.AddDate(0, -1, 0).Add(-time.Hour), at, "", 1))
					w.put(t, retention.DefaultClass, reading("a", at.AddDate(0, -1, 0), at, "", 1))
				}
				var failed string
				left := call
				w.store.before = func(_ context.Context, o string, tb grid.Table) error {
					if o == op {
						w.store.mu.Lock()
						defer w.store.mu.Unlock()
						if left--; left == 0 {
							failed = tb.Name()
							return errBroken
						}
					}
					return nil
				}
				what := fmt.Sprintf("by %s, %s %d", by, op, call)
				a, err := w.engine.Latest(t.Context(), query.LatestQuery{Series: device("a"), By: by})
				if left > 0 { // the query made fewer calls, so none failed
					if want, _ := w.latest(device("a"), by); err != nil || !a.Reading.Equal(&want) {
						t.Errorf("%s: %v %s", what, err, show(&a.Reading))
					}
					if call == 1 && (op == "latest" || by == varve.ByArrival) {
						t.Errorf("%s: not reached", what)
					}
					break
				}
				if !errors.Is(err, errBroken) || !slices.Contains(a.Coverage.Failed, failed) {
					t.Errorf("%s: %s failed: %v, %+v", what, failed, err, a.Coverage)
				}
				if _, err := w.engine.LatestOf(t.Context(), query.LatestQuery{Series: device("a"), By: by}, []string{"a", "b"}); err != nil {
					t.Errorf("%s: broken once, and again: %v", what, err)
				}
			}
		}
	}
}

// TestLatest_ContinuesAfterDrop checks that a table that is dropped between plan and read is listed as
// missing, and that the search continues.
func TestLatest_ContinuesAfterDrop(t *testing.T) {
	for _, by := range []varve.By{varve.ByEvent, varve.ByArrival} {
		w := newWorld(t, 500*day, retention.Forever, 1)
		w.put(t, retention.DefaultClass, reading("a", start.AddDate(0, -2, 0), start.AddDate(0, -2, 0), "", 1))
		w.put(t, retention.DefaultClass, reading("a", start, start, "", 2))
		dropped := ""
		w.store.before = func(_ context.Context, _ string, tb grid.Table) error {
			if dropped == "" {
				dropped = tb.Name()
				w.drop(t, tb)
			}
			return nil
		}
		a, err := w.engine.Latest(t.Context(), query.LatestQuery{Series: device("a"), By: by, Consistent: true})
		want, _ := w.latest(device("a"), by)
		if err != nil || !a.Found || !a.Reading.Equal(&want) || !slices.Equal(a.Coverage.Missing, []string{dropped}) {
			t.Errorf("by %s: %v %v %s, %+v", by, err, a.Found, show(&a.Reading), a.Coverage)
		}
	}
}

// TestQueries_PassConsistencyOn checks that a consistent query uses consistent reads and a fresh
// list of tables.
func TestQueries_PassConsistencyOn(t *testing.T) {
	for _, consistent := range []bool{false, true} {
		w := newWorld(t, 500*day, retention.Forever, 1)
		w.put(t, retention.DefaultClass, reading("a", start, start, "", 2))
		w.ask(t, query.Query{Series: device("a"), Window: varve.AllTime(), Consistent: consistent})
		f, r := w.store.filters[0], w.store.ranges[0]
		if f.Fresh != consistent || r.Consistent != consistent || !f.SkipEmpty || f.Details {
			t.Errorf("consistent %v: listed with %+v, read with %+v", consistent, f, r)
		}
	}
}

// TestLatest_FindsFirstCopyAfterLowerFuture checks a reading that arrived weeks before its event time
// under an earlier policy. It was resent in the month of its event time. Its first copy must be found for
// each number of weeks that the policy can have allowed. Otherwise its last copy would count as the latest
// arrival.
func TestLatest_FindsFirstCopyAfterLowerFuture(t *testing.T) {
	for weeks := range 8 {
		w := newWorld(t, 500*day, retention.Forever, 1)
		at := grid.MonthOf(start).Start().Add(time.Duration(weeks)*7*day + 6*day)
		w.clock = at.Add(30 * day)
		once := grid.MonthOf(start).Start().Add(-time.Hour)
		wide := testGrid
		wide.Future = grid.MaxFuture
		for _, r := range []varve.Reading{
			reading("a", at, once, "", 1),
			reading("a", at, at.Add(2*time.Hour), "", 1),
			reading("a", at.Add(-time.Hour), at.Add(time.Hour), "", 2),
		} {
			w.putOn(t, wide, retention.DefaultClass, r)
		}
		a, err := w.engine.Latest(t.Context(), query.LatestQuery{Series: device("a"), By: varve.ByArrival})
		if want, _ := w.latest(device("a"), varve.ByArrival); err != nil || !a.Reading.Equal(&want) || !want.Arrived.Equal(at.Add(time.Hour)) {
			t.Errorf("%d weeks ahead: %v\n got %s\nwant %s", weeks, err, show(&a.Reading), show(&want))
		}
	}
}
