package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
)

var errDisk = errors.New("the disk is full")

// longAgo is an event time whose table differs from the table of noon.
var longAgo = noon.AddDate(0, -3, 0)

// TestRouter_FailedTableAffectsOnlyItsReadings makes the writes to one table fail. The readings of
// other tables must be stored, and a retry must not store them twice.
func TestRouter_FailedTableAffectsOnlyItsReadings(t *testing.T) {
	w := newWorld()
	bad := w.name("varve", longAgo, noon)
	w.store.set(&w.store.write, func(t grid.Table) error {
		if t.Name() == bad {
			return fmt.Errorf("write %s: %w", t, errDisk)
		}
		return nil
	})
	all := func() []varve.Reading {
		return []varve.Reading{reading("weather", noon, 1), reading("weather", longAgo, 1), {}, reading("brief", longAgo, 1), reading("weather", longAgo, 2), reading("weather", noon, 2)}
	}
	v := w.send(t, all()...)
	if words(v) != "stored unavailable stream_invalid stored unavailable stored" {
		t.Fatal(words(v))
	}
	for _, i := range []int{1, 4} {
		if !v[i].Code.Retryable() || !strings.Contains(v[i].Message, errDisk.Error()) {
			t.Errorf("reading %d: %s", i, v[i])
		}
	}
	w.store.set(&w.store.write, nil)
	if got := words(w.send(t, all()...)); got != "duplicate stored stream_invalid duplicate stored duplicate" {
		t.Error(got)
	}
}

// TestRouter_RejectsInvalidReadingsFinally checks that a rejection is not retryable if the store
// can never accept the reading.
func TestRouter_RejectsInvalidReadingsFinally(t *testing.T) {
	w := newWorld()
	w.store.set(&w.store.write, func(grid.Table) error {
		return fmt.Errorf("write: %w", varve.Errorf(varve.Invalid, "an item is at most 400 KB"))
	})
	v := w.send(t, reading("weather", noon, 1))
	if v[0].Outcome != varve.Rejected || v[0].Code.Retryable() || !strings.Contains(v[0].Message, "400 KB") {
		t.Error(v)
	}
}

// TestRouter_RejectsUnregisteredStreams checks that readings are rejected as retryable if their
// stream cannot be registered. Readings of other streams must be stored.
func TestRouter_RejectsUnregisteredStreams(t *testing.T) {
	w := newWorld()
	w.store.put = func(k store.Key) error {
		if strings.HasSuffix(k.SK, "brief") {
			return errDisk
		}
		return nil
	}
	send := func() string {
		return words(w.send(t, reading("brief", noon, 1), reading("weather", noon, 1), reading("brief", noon, 2)))
	}
	if got := send(); got != "unavailable stored unavailable" {
		t.Error(got)
	}
	w.store.put = nil
	if got := send(); got != "stored duplicate stored" {
		t.Error(got)
	}
}

// TestRouter_RegistersStreamOncePerWrite writes interleaved streams while the registry fails. Each failed
// registration may last long, so a write must try it once per stream, and not once per reading.
func TestRouter_RegistersStreamOncePerWrite(t *testing.T) {
	failures := 0
	w := newWorld(func(o *router.Options) {
		o.Events.Failed = func(string, error) { failures++ }
	})
	tries := map[string]int{}
	w.store.put = func(k store.Key) error {
		tries[k.SK]++
		if strings.HasSuffix(k.SK, "wind") {
			return nil
		}
		return errDisk
	}
	var readings []varve.Reading
	for i := range int64(20) {
		readings = append(readings, reading("brief", noon, i), reading("wind", noon, i), reading("weather", noon, i))
	}
	if got, want := words(w.send(t, readings...)), strings.TrimSpace(strings.Repeat("unavailable stored unavailable ", 20)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(tries) != 3 || tries["STREAM#brief"] != 1 || tries["STREAM#weather"] != 1 || failures != 2 {
		t.Errorf("tries %v and %d failures, want one per stream", tries, failures)
	}
}

// TestFaults_BlameNoReading checks that after any fault of the registry, the tracker or the
// store, readings are retryable. The cause must be reported.
func TestFaults_BlameNoReading(t *testing.T) {
	refused := varve.Errorf(varve.Invalid, "DynamoDB does not take PutItem on varve_registry as it is")
	for _, row := range []struct{ what, step string }{{"registry", "register stream"}, {"marker", "mark readings"}, {"store", "write readings"}, {"table", "create table"}} {
		var steps []string
		var causes []error
		w := newWorld(func(o *router.Options) {
			o.Events.Failed = func(step string, err error) { steps, causes = append(steps, step), append(causes, err) }
			if row.what == "marker" {
				o.Tracker = &marker{err: refused}
			}
		})
		switch row.what {
		case "registry":
			w.store.put = func(store.Key) error { return refused }
		case "store":
			w.store.set(&w.store.write, func(grid.Table) error { return errDisk })
		case "table":
			w.store.set(&w.store.create, func(grid.Table) error { return refused })
		}
		v := w.send(t, reading("weather", noon, 1), reading("weather", noon, 2))
		if words(v) != "unavailable unavailable" {
			t.Errorf("%s: %s", row.what, words(v))
		}
		if len(causes) != 1 || steps[0] != row.step || row.what != "store" && !errors.Is(causes[0], refused) {
			t.Errorf("%s: reported %q, %v", row.what, steps, causes)
		}
	}
}

// TestRouter_LimitsRetriesForVanishingTable checks that the router retries a limited number of
// times if a table stays missing, and only for the readings of that table.
func TestRouter_LimitsRetriesForVanishingTable(t *testing.T) {
	w := newWorld()
	gone := w.name("varve", longAgo, noon)
	w.store.set(&w.store.write, func(t grid.Table) error {
		if t.Name() == gone {
			return store.ErrNoTable
		}
		return nil
	})
	if got := words(w.send(t, reading("weather", longAgo, 1), reading("weather", noon, 1))); got != "unavailable stored" {
		t.Error(got)
	}
	if n := w.store.created[gone]; n < 1 || n > 5 {
		t.Errorf("made %d times", n)
	}
}

// TestRouter_RecreatesDroppedTable checks that all readings are stored if a table is dropped
// between two writes.
func TestRouter_RecreatesDroppedTable(t *testing.T) {
	w := newWorld()
	times := 0
	w.store.set(&w.store.write, func(grid.Table) error {
		if times++; times == 2 {
			return fmt.Errorf("it went: %w", store.ErrNoTable)
		}
		return nil
	})
	for i := range int64(3) {
		if got := words(w.send(t, reading("weather", noon, i))); got != "stored" {
			t.Error(got)
		}
	}
	w.expect(t, map[string]int{w.name("varve", noon, noon): 3})
}

// TestRouter_ReturnsCauseOfEndedContext checks that a write returns the cause of its ended
// context, and that a retry stores nothing twice.
func TestRouter_ReturnsCauseOfEndedContext(t *testing.T) {
	cause := errors.New("the client has gone")
	for _, row := range []struct {
		when string
		hook func(*world, func()) // calls the function, which ends the context, at some time during a write
	}{
		{"before", func(_ *world, end func()) { end() }},
		{"while it is written", func(w *world, end func()) {
			w.store.set(&w.store.write, func(grid.Table) error { end(); return nil })
		}},
		{"while a table is made", func(w *world, end func()) {
			w.store.set(&w.store.create, func(grid.Table) error { end(); return nil })
		}},
	} {
		w := newWorld()
		ctx, cancel := context.WithCancelCause(context.Background())
		row.hook(w, func() { cancel(cause) })
		q, err := w.Admit()
		if err != nil {
			t.Fatal(err)
		}
		verdicts := make([]varve.Verdict, 1)
		if err := q.Write(ctx, []varve.Reading{reading("weather", noon, 1)}, verdicts); !errors.Is(err, cause) {
			t.Errorf("%s: %v, %s", row.when, err, words(verdicts))
		}
		q.Done()
		w.store.set(&w.store.write, nil)
		w.store.set(&w.store.create, nil)
		if got := words(w.send(t, reading("weather", noon, 1))); got != "stored" && got != "duplicate" {
			t.Errorf("%s, again: %s", row.when, got)
		}
		w.expect(t, map[string]int{w.name("varve", noon, noon): 1})
	}
}

// TestRouter_ReturnsVerdictsOfClosedStore checks that each reading is rejected with a verdict if
// the store is closed.
func TestRouter_ReturnsVerdictsOfClosedStore(t *testing.T) {
	w := newWorld()
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if got := words(w.send(t, reading("weather", noon, 1), reading("weather", noon.Add(-time.Hour), 1))); got != "unavailable unavailable" {
		t.Error(got)
	}
}
