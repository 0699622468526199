package router_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/router"
)

// marker is a tracker that counts the readings without a verdict that it receives. If err is set,
// it fails.
type marker struct {
	by     time.Time
	err    error
	told   int
	before func()
}

func (m *marker) MarkDirty(_ context.Context, _ time.Time, _ []varve.Reading, verdicts []varve.Verdict) (time.Time, error) {
	for _, v := range verdicts {
		if v.Outcome == 0 {
			m.told++
		}
	}
	if m.before != nil {
		m.before()
	}
	return m.by, m.err
}

// TestRouter_MarksReadingsBeforeWriting checks that the tracker receives exactly the readings that
// will be written, before they are written. If the tracker fails, no reading may be written.
func TestRouter_MarksReadingsBeforeWriting(t *testing.T) {
	m := &marker{by: noon.Add(time.Hour), err: errDisk}
	w := newWorld(func(o *router.Options) { o.Tracker = m })
	send := func() string {
		return words(w.send(t, reading("weather", noon, 1), varve.Reading{}, reading("weather", noon.Add(48*time.Hour), 1), reading("brief", noon, 1)))
	}
	if got := send(); got != "unavailable stream_invalid time_in_future unavailable" || m.told != 2 {
		t.Errorf("%s, %d told", got, m.told)
	}
	if w.store.writes != 0 {
		t.Error("what was not marked was written")
	}
	m.err, m.before = nil, func() {
		if w.store.writes != 0 {
			t.Error("written before it was marked")
		}
	}
	if got := send(); got != "stored stream_invalid time_in_future stored" {
		t.Error(got)
	}
}

// TestRouter_WritesBeforeDeadlineOfMark checks that a reading is not written after the time that
// the tracker returned. Its verdict must be retryable.
func TestRouter_WritesBeforeDeadlineOfMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &marker{}
		w := newWorld(func(o *router.Options) { o.Tracker, o.Now = m, time.Now })
		m.by = time.Now().Add(10 * time.Minute)
		w.store.set(&w.store.write, func(grid.Table) error { <-time.After(11 * time.Minute); return nil })
		if got := words(w.send(t, reading("weather", time.Now(), 1))); got != "unavailable" {
			t.Errorf("too late: %s", got)
		}
		w.store.set(&w.store.write, nil)
		if got := words(w.send(t, reading("weather", time.Now(), 1))); got != "unavailable" {
			t.Errorf("when the time is over: %s", got)
		}
		m.by = time.Now().Add(10 * time.Minute)
		if got := words(w.send(t, reading("weather", time.Now(), 1))); got != "stored" {
			t.Errorf("in time: %s", got)
		}
	})
}

// TestRouter_ReturnsCauseIfMarkIsCanceled checks that a write returns the cause if its context
// ends while the tracker runs.
func TestRouter_ReturnsCauseIfMarkIsCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &marker{by: noon.Add(time.Hour), err: context.Canceled, before: func() { cancel(errDisk) }}
	w := newWorld(func(o *router.Options) { o.Tracker = m })
	q, err := w.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Done()
	if err := q.Write(ctx, []varve.Reading{reading("weather", noon, 1)}, make([]varve.Verdict, 1)); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}
