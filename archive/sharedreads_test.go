package archive_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/store"
)

// TestSharedReads_RetainOnlyNeededRows reads the tables of a merged archive as a query does: one after the
// other, in turn or concurrently. Some reads are canceled. All other reads must return all readings of their
// table. The retained rows must never exceed the limit, and none may remain at the end. Sequential reads must
// not need more requests than estimated.
func TestSharedReads_RetainOnlyNeededRows(t *testing.T) {
	randomtest.LimitChecks(t, 20)
	dir := t.TempDir()
	retained, failed := int64(0), 0
	rapid.Check(t, func(t *rapid.T) {
		w := newMergeWorld(t, dir)
		defer func() { must(t, os.RemoveAll(w.root)) }()
		_, err := w.whole().Merge(context.Background(), nil, true)
		must(t, err)
		for range 40 {
			q := newSharedQuery(t, w)
			switch rapid.IntRange(0, 2).Draw(t, "way") {
			case 0:
				q.readSequentially(t)
			case 1:
				q.readInTurn(t)
			case 2:
				q.readConcurrently(t)
			}
			q.check(t)
			retained, failed = max(retained, q.retained), failed+q.failed
		}
	})
	if (retained == 0 || failed == 0) && !testing.Short() {
		t.Errorf("at most %d rows were retained, and %d reads failed", retained, failed)
	}
}

// sharedQuery reads a range of a series from all tables of a mergeWorld.
type sharedQuery struct {
	reads    *archive.SharedReads
	rng      store.Range
	limit    int64 // limit on retained rows; 0 means the default
	estimate int   // sum of the requests that Estimate returned for the tables
	tables   []*sharedTable
	retained int64 // largest number of rows that were retained at the same time
	failed   int   // number of reads that failed
}

type sharedTable struct {
	*archive.SeriesReader
	want, got []varve.Reading
	requests  int
	failed    bool
}

func newSharedQuery(t *rapid.T, w *mergeWorld) *sharedQuery {
	a := w.whole()
	reader := archive.NewReader(a)
	q := &sharedQuery{reads: reader.Share(), limit: rapid.SampledFrom([]int64{0, 0, 1, 6, 15}).Draw(t, "limit")}
	if q.limit == 15 {
		reader.LimitDecoded(rapid.Int64Range(0, 20_000).Draw(t, "decoded"))
	}
	q.rng = store.Range{
		Series: varve.Series{Tenant: "acme", Stream: rapid.SampledFrom([]string{"s", "t"}).Draw(t, "stream"), Device: rapid.SampledFrom([]string{"a", "b", "c/d"}).Draw(t, "device")},
		Window: varve.AllTime(), Order: varve.Order(rapid.IntRange(0, 1).Draw(t, "order")),
	}
	some := w.one(t)
	switch at := time.Unix(some.Start+rapid.Int64Range(0, 40).Draw(t, "at")*4000, 0); rapid.IntRange(0, 3).Draw(t, "bound") {
	case 0:
		q.rng.Window.From = at
	case 1:
		q.rng.Window.To = at
	case 2:
		q.rng.After = &varve.Position{Time: at.UnixNano()}
	}
	estimates, tables := archive.NewReader(a).Share(), slices.Clone(w.tables)
	if q.rng.Order == varve.Ascending { // the tables of a mergeWorld are in descending order
		slices.Reverse(tables)
	}
	for _, tb := range tables {
		r, _, err := a.Catalog().Get(context.Background(), tb)
		must(t, err)
		if r.Readings == 0 || !tb.Overlaps(q.rng.Window) {
			continue
		}
		n, err := estimates.Estimate(context.Background(), &r, q.rng)
		must(t, err)
		q.estimate += n
		q.tables = append(q.tables, &sharedTable{SeriesReader: q.reads.Open(&r, q.rng), want: q.in(w.want[tb])})
	}
	if q.limit > 0 {
		q.reads.LimitRows(q.limit)
	}
	return q
}

func (q *sharedQuery) in(list []varve.Reading) (in []varve.Reading) {
	for i := range list {
		r := &list[i]
		after := q.rng.After
		switch {
		case r.Series != q.rng.Series || !q.rng.Window.Contains(r.Time):
		case after != nil && q.rng.Order == varve.Ascending && r.Position().Compare(*after) <= 0:
		case after != nil && q.rng.Order == varve.Descending && r.Position().Compare(*after) >= 0:
		default:
			in = append(in, *r)
		}
	}
	return in
}

// next reads a page, and reports whether the table has more readings.
func (s *sharedTable) next(ctx context.Context) (more bool, err error) {
	page, err := s.Next(ctx, 2)
	s.requests += page.Cost.Requests
	for i := range page.Parts {
		p := &page.Parts[i]
		for k := range p.Len() {
			var r varve.Reading
			p.Fill(p.Row(k), &r)
			s.got = append(s.got, r)
		}
	}
	return page.More, err
}

// note records the largest number of retained rows, and compares the present number with the limit.
func (q *sharedQuery) note(t *rapid.T) {
	n := q.reads.RetainedRows()
	q.retained = max(q.retained, n)
	if q.limit > 0 && n > q.limit {
		t.Fatalf("%d rows are retained, want at most %d", n, q.limit)
	}
}

func (q *sharedQuery) readSequentially(t *rapid.T) {
	requests := 0
	for _, s := range q.tables {
		for more := true; more; q.note(t) {
			var err error
			more, err = s.next(context.Background())
			must(t, err)
		}
		requests += s.requests
	}
	if q.limit == 0 && requests > q.estimate {
		t.Fatalf("%d requests, want at most %d", requests, q.estimate)
	}
}

// readInTurn reads the tables page by page. Some reads are canceled, and then continue or not.
func (q *sharedQuery) readInTurn(t *rapid.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	begun := false // whether a read has succeeded; only then is the manifest known, and a table may be abandoned
	for left := slices.Clone(q.tables); len(left) > 0; q.note(t) {
		i := rapid.IntRange(0, len(left)-1).Draw(t, "turn")
		ctx := context.Background()
		if rapid.IntRange(0, 3).Draw(t, "cancel") == 0 {
			ctx = canceled
		}
		more, err := left[i].next(ctx)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			q.failed++
			left[i].failed = begun && rapid.Bool().Draw(t, "abandon")
			more = !left[i].failed
		}
		begun = begun || err == nil
		if !more {
			left = slices.Delete(left, i, i+1)
		}
	}
}

func (q *sharedQuery) readConcurrently(t *rapid.T) {
	g := errgroup.Group{}
	for _, s := range q.tables {
		g.Go(func() (err error) {
			for more := true; more && err == nil; {
				more, err = s.next(context.Background())
			}
			return err
		})
	}
	must(t, g.Wait())
}

// check checks the readings, and that no row is retained at the end.
func (q *sharedQuery) check(t *rapid.T) {
	for _, s := range q.tables {
		if got, want := texts(s.got), texts(s.want); !s.failed && !slices.Equal(got, want) {
			t.Fatalf("range %+v has\n%s\nwant\n%s", q.rng, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if n := q.reads.RetainedRows(); n > 0 {
		t.Fatalf("all tables were read to the end, and %d rows are still retained", n)
	}
}
