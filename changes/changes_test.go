package changes_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
)

// TestChanges_EndAtClockReset sets the clock back by an hour. A cursor from before the reset must
// fail, and a read since the time in the error must return the later reading. In a second case, the
// process is restarted. In a third case, only a write notices the reset.
func TestChanges_EndAtClockReset(t *testing.T) {
	for _, row := range []struct {
		name   string
		before func(*world)
	}{
		{"running", func(*world) {}},
		{"restarted before the write", (*world).restart},
		{"ended without another poll", func(w *world) {
			w.send(0, w.reading("b", w.clock))
			w.engine.Changes = nil
			w.pass(55 * time.Minute)
			w.open() // opens an engine while the earlier one is still open
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.send(0, w.reading("a", w.clock))
			w.pass(time.Second)
			c := w.readers[0]
			w.check(c)
			w.pass(-time.Hour)
			row.before(w)
			late := w.reading("b", w.clock)
			w.send(0, late)
			w.pass(time.Second)
			_, err := w.engine.Changes.Open(t.Context(), changes.Query{Stream: weather, Since: c.cursor})
			if varve.FailureOf(err) != varve.Gone || !strings.Contains(err.Error(), "clock") {
				t.Fatalf("a cursor from before the reset: %v", err)
			}
			_, at, _ := strings.Cut(err.Error(), "use since=")
			since, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(at, ", which may repeat readings"))
			if err != nil {
				t.Fatal(err)
			}
			fresh := &consumer{cursor: changes.FromTime(since), since: since, got: map[string]time.Time{}}
			w.check(fresh)
			if _, ok := fresh.got[late.String()]; !ok {
				t.Errorf("the reading after the reset is not among %v", fresh.got)
			}
			w.close()
		})
	}
}

// TestChanges_OfOffStream checks the error of a stream without an index, and that changes begin
// when the index is turned on. Cursors from before the index was turned off must fail with Gone.
func TestChanges_OfOffStream(t *testing.T) {
	w := newWorld(t, nil)
	defer func() { w.close() }()
	w.send(0, w.reading("a", w.clock))
	w.pass(time.Second)
	w.check(w.readers[0])
	old := w.readers[0].cursor
	w.indexed = false
	w.restart()
	w.send(0, w.reading("a", w.clock))
	_, err := w.engine.Changes.Open(t.Context(), changes.Query{Stream: weather})
	if varve.FailureOf(err) != varve.Conflict || !strings.Contains(err.Error(), "streams.weather.arrivals") {
		t.Fatalf("a stream that is off: %v", err)
	}
	w.indexed = true
	w.pass(time.Second)
	w.restart()
	w.send(0, w.reading("a", w.clock))
	w.pass(time.Second)
	if _, err := w.engine.Changes.Open(t.Context(), changes.Query{Stream: weather, Since: old}); varve.FailureOf(err) != varve.Gone {
		t.Fatalf("a cursor from before the stream was off: %v", err)
	}
	fresh := &consumer{got: map[string]time.Time{}}
	w.check(fresh)
	if len(fresh.got) != 1 {
		t.Errorf("%d readings since the index is on, want 1", len(fresh.got))
	}
}

// TestChanges_ExpireWithReadings checks that a cursor older than the retention fails with Gone, and that
// expired readings are not returned.
func TestChanges_ExpireWithReadings(t *testing.T) {
	w := newWorld(t, nil)
	defer func() { w.close() }()
	w.send(0, w.reading("a", w.clock))
	old := changes.FromTime(w.clock)
	w.pass(lifetime + time.Second)
	w.send(0, w.reading("a", w.clock))
	w.pass(time.Second)
	if _, err := w.engine.Changes.Open(t.Context(), changes.Query{Stream: weather, Since: old}); varve.FailureOf(err) != varve.Gone {
		t.Errorf("a cursor from before the retention: %v", err)
	}
	c := &consumer{got: map[string]time.Time{}}
	for w.poll(c, 0) {
	}
	if len(c.got) != 1 {
		t.Errorf("%d readings, want 1: %v", len(c.got), c.got)
	}
}

// broken is a store that cannot read the horizon while the field "fails" is true.
type broken struct {
	store.Store
	fails *atomic.Bool
}

func (b broken) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if b.fails.Load() && keys[0].PK == "CHANGES" {
		return nil, varve.Errorf(varve.Unavailable, "the disk does not answer")
	}
	return b.Store.Get(ctx, keys, consistent)
}

// TestChanges_StartWithoutHorizon opens an engine whose store cannot read the settled time. Writes
// must be rejected as retryable until the store can read it.
func TestChanges_StartWithoutHorizon(t *testing.T) {
	fails := new(atomic.Bool)
	fails.Store(true)
	w := newWorld(t, broken{mem.New(func() time.Time { return start }), fails})
	defer w.close()
	r := w.reading("a", w.clock)
	w.send(0, r)
	if len(w.acked) != 0 {
		t.Fatalf("a reading was stored without the settled time: %v", w.acked)
	}
	if _, err := w.engine.Changes.Open(t.Context(), changes.Query{Stream: weather}); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("a poll without the settled time: %v", err)
	}
	fails.Store(false)
	w.send(0, r)
	w.pass(time.Second)
	if w.check(w.readers[0]); len(w.readers[0].got) != 1 {
		t.Errorf("%v: want the reading", w.readers[0].got)
	}
}

// TestParseCursor_RefusesOthers checks that ParseCursor refuses the cursors of other queries, and
// truncated and empty cursors. IsCursor must distinguish cursors from times.
func TestParseCursor_RefusesOthers(t *testing.T) {
	c := changes.Cursor{Epoch: 3, Since: start, Until: start.Add(time.Minute), Device: "a", Part: true, After: varve.Position{Time: 5, ID: varve.HashID(7)}}
	text := c.Encode(weather, "")
	if got, err := changes.ParseCursor(text, weather, ""); err != nil || got != c {
		t.Fatalf("%+v, %v, want %+v", got, err, c)
	}
	if !changes.IsCursor(text) || changes.IsCursor("2026-11-28") || changes.IsCursor("-24h") || changes.IsCursor("1700000000000") {
		t.Error("times and cursors are confused")
	}
	for what, parse := range map[string]func() error{
		"another device": func() error { _, err := changes.ParseCursor(text, weather, "b"); return err },
		"another tenant": func() error {
			_, err := changes.ParseCursor(text, changes.Stream{Tenant: "x", Name: weather.Name}, "")
			return err
		},
		"cut":   func() error { _, err := changes.ParseCursor(text[:len(text)-2], weather, ""); return err },
		"empty": func() error { _, err := changes.ParseCursor("", weather, ""); return err },
	} {
		if err := parse(); varve.FailureOf(err) != varve.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWait_EndsWithWrite waits for the changes of a stream. The wait must end with the write, or with
// its context.
func TestWait_EndsWithWrite(t *testing.T) {
	w := newWorld(t, nil)
	defer func() { w.close() }()
	w.send(0, w.reading("a", w.clock))
	w.pass(time.Second)
	c := w.readers[0]
	w.check(c)
	q := changes.Query{Stream: weather}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.engine.Changes.Wait(ctx, q, c.cursor)
	w.send(0, w.reading("a", w.clock))
	w.pass(time.Second)
	w.engine.Changes.Wait(t.Context(), q, c.cursor)
	before := len(c.got)
	if w.check(c); len(c.got) != before+1 {
		t.Errorf("%d readings after the wait, want %d", len(c.got), before+1)
	}
}

// TestChanges_OfLocalStore writes to the embedded store from several goroutines while a consumer polls page
// by page, and reopens the store in between. It uses the real clock. The consumer must get each acknowledged
// reading.
func TestChanges_OfLocalStore(t *testing.T) {
	const writers, writes = 4, 40
	dir := t.TempDir()
	w := &world{t: t, model: &model{acked: map[string]bool{}}, indexed: true, real: true}
	c := &consumer{got: map[string]time.Time{}}
	for range 2 {
		s, err := local.Open(local.Options{Dir: dir, MemtableBytes: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		w.store = lasting{Store: s, mu: new(sync.Mutex), stored: map[string]time.Time{}}
		w.open()
		var group sync.WaitGroup
		var mu sync.Mutex
		running := writers
		for n := range writers {
			group.Go(func() {
				for i := range writes {
					f := w.write(t, n, i)
					mu.Lock()
					w.record(f)
					mu.Unlock()
				}
				mu.Lock()
				running--
				mu.Unlock()
			})
		}
		for more := true; more; {
			mu.Lock()
			more = running > 0
			mu.Unlock()
			w.poll(c, 100)
		}
		group.Wait()
		for w.poll(c, 0) || len(c.got) < len(w.acked) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			w.engine.Changes.Wait(ctx, changes.Query{Stream: weather}, c.cursor)
			cancel()
			if ctx.Err() == context.DeadlineExceeded {
				t.Fatalf("%d of %d readings", len(c.got), len(w.acked))
			}
		}
		w.close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.got) != len(w.acked) || len(c.got) != 2*writers*writes*3 {
		t.Errorf("%d readings, want %d and %d acknowledged ones", len(c.got), 2*writers*writes*3, len(w.acked))
	}
}

// write writes three new readings of a device in one request, with the real clock.
func (w *world) write(t *testing.T, writer, i int) *flight {
	t.Helper()
	f := &flight{verdicts: make([]varve.Verdict, 3)}
	now := time.Now()
	for k := range f.verdicts {
		f.readings = append(f.readings, varve.Reading{
			Series: varve.Series{Tenant: weather.Tenant, Stream: weather.Name, Device: fmt.Sprint("d", (writer+i)%6)},
			Time:   now.Add(-time.Duration(k*i) * time.Hour), Fields: []varve.Field{{Name: "n", Value: varve.IntValue(int64(1000*writer + 10*i + k))}},
		})
	}
	q, err := w.engine.Router.Admit()
	if err != nil {
		t.Error(err)
		return f
	}
	defer q.Done()
	if err := q.Write(t.Context(), f.readings, f.verdicts); err != nil {
		t.Error(err)
	}
	for k := range f.readings {
		if f.readings[k].ID.IsZero() {
			f.readings[k].ID = f.readings[k].ContentID()
		}
	}
	return f
}
