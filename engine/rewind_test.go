package engine_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rewind"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// recordedStore is an embedded store with a list of the readings that it stored.
type recordedStore struct {
	*local.Store
	stored []varve.Reading
}

func (s *recordedStore) Write(ctx context.Context, batches []store.Batch) []store.Result {
	results := s.Store.Write(ctx, batches)
	for i, r := range results {
		for k := range r.Verdicts {
			if r.Err == nil && r.Verdicts[k].Outcome == varve.Stored {
				stored := store.Batch{Readings: []varve.Reading{batches[i].Readings[k].Clone()}}
				stored.SetContentIDs()
				s.stored = append(s.stored, stored.Readings...)
			}
		}
	}
	return results
}

// readingsAt returns the readings of a series as of a time. It is the model of queries: the first
// copy of each version counts, and then the highest version.
func (s *recordedStore) readingsAt(series varve.Series, at time.Time) (texts []string) {
	first := map[varve.Position]*varve.Reading{}
	for i := range s.stored {
		r := &s.stored[i]
		if r.Series != series || r.Arrived.After(at) {
			continue
		}
		if old := first[r.Position()]; old == nil || r.Arrived.Before(old.Arrived) {
			first[r.Position()] = r
		}
	}
	newest := map[varve.Position]*varve.Reading{}
	for at, r := range first {
		at.ID = at.ID.WithVersion(0)
		if old := newest[at]; old == nil || r.ID.Version() > old.ID.Version() {
			newest[at] = r
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(newest), varve.Position.Compare) {
		texts = append(texts, lineOf(newest[p]).text)
	}
	return texts
}

// moment has the answers to all questions of rewindWorld.answers at one time.
type moment struct {
	at      time.Time
	answers []string
}

// rewindWorld is an engine on an embedded store, with backups and recorded moments.
type rewindWorld struct {
	*testing.T
	past
	store   *recordedStore
	place   *backup.Place
	moments []moment
	// later is the number of readings that were removed by restores. recounted is the number of partials that
	// were deleted or recounted by restores.
	later     int64
	recounted int
}

func newRewindWorld(t *testing.T, seed uint64) *rewindWorld {
	t.Helper()
	w := &rewindWorld{T: t}
	w.past.t = t
	w.setClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	rng := rand.New(rand.NewPCG(seed, 3))
	w.draw = func(_ string, n int) int { return rng.IntN(n) }
	st, err := local.Open(w.options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	w.store = &recordedStore{Store: st}
	w.past.e = open(t, w.engineOptions(w.store))
	objects, err := folder.Open(filepath.Join(t.TempDir(), "place"), folder.Private)
	if err != nil {
		t.Fatal(err)
	}
	w.place = backup.NewPlace(objects, "", w.now)
	return w
}

func (w *rewindWorld) now() time.Time { return *w.shared.Load() }

func (w *rewindWorld) options(dir string) local.Options {
	return local.Options{Dir: dir, Now: w.now, MinFree: -1, MemtableBytes: 2 << 10, ChunkReadings: 8, MaxLevel0: 2}
}

func (w *rewindWorld) engineOptions(st store.Store) engine.Options {
	return engine.Options{
		Store: st, Now: w.now, Holder: "test", Schedule: "@yearly", Parallel: 2,
		Indexed: func(string) bool { return true },
	}
}

func (w *rewindWorld) backUp() {
	w.Helper()
	w.setClock(w.clock.Add(time.Millisecond))
	made, err := w.store.Snapshot(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.place.Make(w.Context(), backup.Snapshot{Dir: made.Dir, Store: made.Store, Created: made.Created, Version: "test"}); err != nil {
		w.Fatal(err)
	}
	if err := made.Remove(); err != nil {
		w.Fatal(err)
	}
}

// record records the present answers to the questions of rewindWorld.answers. The next reading
// arrives a millisecond later.
func (w *rewindWorld) record() {
	w.Helper()
	w.moments = append(w.moments, moment{w.clock, w.answers(&w.past)})
	w.setClock(w.clock.Add(time.Millisecond))
}

// answers asks an engine eight questions about each series, and returns the answers as texts.
func (w *rewindWorld) answers(p *past) (texts []string) {
	w.Helper()
	for i := range 2 {
		s := pastSeries(i)
		for name, ask := range map[string]func(time.Time) ([]line, *query.AsOf, error){
			"readings":          p.readings(query.Query{Series: s, Window: varve.AllTime()}),
			"versions":          p.readings(query.Query{Series: s, Window: varve.AllTime(), Versions: true}),
			"latest by event":   p.latest(query.LatestQuery{Series: s, By: varve.ByEvent}),
			"latest by arrival": p.latest(query.LatestQuery{Series: s, By: varve.ByArrival}),
			"aggregate":         p.aggregate(s, varve.AllTime(), aggregate.FromReadings),
			"daily aggregate":   p.aggregate(s, varve.AllTime(), aggregate.FromRollups),
			"hours":             p.rollups(rollup.Query{Series: s, Window: varve.AllTime(), Period: rollup.Hourly, Limit: 50}),
			"days":              p.rollups(rollup.Query{Series: s, Window: varve.AllTime(), Period: rollup.Daily, Limit: 50}),
		} {
			lines, _, err := ask(time.Time{})
			if err != nil && varve.FailureOf(err) != varve.NotFound { // NotFound: the stream has no reading yet
				w.Fatalf("%s of %s: %v", name, s, err)
			}
			for _, l := range lines {
				texts = append(texts, fmt.Sprintf("%s of %s: %s", name, s, l.text))
			}
		}
	}
	slices.Sort(texts)
	return texts
}

// restore restores the store as of a moment, and compares the answers with the recorded ones and
// with the model.
func (w *rewindWorld) restore(m moment) {
	w.Helper()
	made, err := w.place.SelectAsOf(w.Context(), m.at)
	if err != nil {
		w.Fatal(err)
	}
	if !made.Knows(m.at) {
		w.Fatalf("backup %s is too old for %s", made.Name(), m.at)
	}
	dir := filepath.Join(w.TempDir(), "restored")
	if err := w.place.Restore(w.Context(), made, dir, func() error { return w.rewind(dir, m.at) }); err != nil {
		w.Fatal(err)
	}
	if err := local.CheckFolder(w.Context(), dir, 0, func(p local.Problem) { w.Errorf("%+v", p) }); err != nil {
		w.Fatal(err)
	}
	st, err := local.Open(w.options(dir))
	if err != nil {
		w.Fatal(err)
	}
	p := past{t: w.T, clock: w.clock}
	p.e = open(w.T, w.engineOptions(st))
	for i := range 2 {
		var got []string
		lines, _, err := p.readings(query.Query{Series: pastSeries(i), Window: varve.AllTime()})(time.Time{})
		if err != nil && varve.FailureOf(err) != varve.NotFound {
			w.Fatal(err)
		}
		for _, l := range lines {
			got = append(got, l.text)
		}
		w.compareTexts(fmt.Sprintf("readings of %s as of %s, by the model", pastSeries(i), m.at), got, w.store.readingsAt(pastSeries(i), m.at))
	}
	w.compare("after the restore", &p, m)
	w.setClock(w.clock.Add(3 * time.Hour)) // the hours of all dirty markers are due for a recount
	for range 2 {
		if _, err := p.e.Aggregator.Run(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
	w.compare("after the roll-ups were recounted", &p, m)
	w.checkRollups(p.e, st)
	if err := p.e.Close(); err != nil {
		w.Fatal(err)
	}
}

// rewind removes from a restored folder the readings that arrived after a time.
func (w *rewindWorld) rewind(dir string, at time.Time) error {
	o := w.options(dir)
	if _, err := local.Open(o); err == nil || !strings.Contains(err.Error(), "not restored yet") {
		w.Fatalf("open a folder during its restore: %v", err)
	}
	o.Restoring = true
	st, err := local.Open(o)
	if err != nil {
		return err
	}
	done, err := rewind.Run(w.Context(), st, w.now(), at)
	w.later, w.recounted = w.later+done.Removed, w.recounted+done.Rollups
	if err := st.Close(); err != nil {
		w.Fatal(err)
	}
	return err
}

func (w *rewindWorld) compare(when string, p *past, m moment) {
	w.Helper()
	w.compareTexts(fmt.Sprintf("as of %s, %s", m.at, when), w.answers(p), m.answers)
}

func (w *rewindWorld) compareTexts(what string, got, want []string) {
	w.Helper()
	if slices.Equal(got, want) {
		return
	}
	for _, text := range got {
		if !slices.Contains(want, text) {
			w.Errorf("%s: unexpected %s", what, text)
		}
	}
	for _, text := range want {
		if !slices.Contains(got, text) {
			w.Errorf("%s: missing %s", what, text)
		}
	}
	w.Fatalf("%s: %d lines, want %d", what, len(got), len(want))
}

// checkRollups compares all stored roll-ups with the readings.
func (w *rewindWorld) checkRollups(e *engine.Engine, st *local.Store) {
	w.Helper()
	for i := range 2 {
		err := rollup.ScanHours(w.Context(), st, pastSeries(i), func(at time.Time) {
			outcome, err := e.Rollups.Check(w.Context(), pastSeries(i), at, true, func(d rollup.Difference) { w.Errorf("%s: %s", pastSeries(i), &d) })
			if err != nil || outcome != rollup.Compared {
				w.Errorf("hour %s of %s: outcome %d, %v", at, pastSeries(i), outcome, err)
			}
		})
		if err != nil {
			w.Fatal(err)
		}
	}
}

// TestRewind_RestoresEarlierAnswers makes backups between random writes, and restores random times. The
// answers of a restored store must equal the recorded answers of that time, and the model.
func TestRewind_RestoresEarlierAnswers(t *testing.T) {
	removed, recounted := int64(0), 0
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newRewindWorld(t, seed)
			for range 60 {
				switch w.draw("step", 10) {
				case 0, 1, 2, 3:
					w.write()
				case 4, 5:
					w.wait()
				case 6:
					w.maintain()
				case 7, 8:
					w.record()
				default:
					w.backUp()
				}
			}
			w.backUp()
			w.wait()
			for range 3 {
				w.restore(w.moments[w.draw("moment", len(w.moments))])
			}
			removed, recounted = removed+w.later, recounted+w.recounted
		})
	}
	t.Logf("%d readings and %d roll-ups were removed", removed, recounted)
	if removed < 100 || recounted < 5 {
		t.Errorf("only %d readings and %d roll-ups were removed", removed, recounted)
	}
}
