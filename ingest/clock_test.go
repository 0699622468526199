package ingest_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
)

// clockWorld is an ingester that corrects the stream named clocks. Tests advance its clock.
type clockWorld struct {
	*ingest.Ingester
	t      *testing.T
	engine *engine.Engine
	store  store.Store
	at     *atomic.Int64 // nanoseconds since noon
}

func (w *clockWorld) now() time.Time { return noon.Add(time.Duration(w.at.Load())) }

func (w *clockWorld) advance(d time.Duration) { w.at.Add(int64(d)) }

// lasting is a store that ignores Close, so that the next engine can use it.
type lasting struct{ store.Store }

func (lasting) Close() error { return nil }

func newClockWorld(t *testing.T, open func(now func() time.Time) store.Store) *clockWorld {
	t.Helper()
	w := &clockWorld{t: t, at: new(atomic.Int64)}
	w.store = lasting{open(w.now)}
	w.start()
	t.Cleanup(func() {
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *clockWorld) start() {
	w.t.Helper()
	streams := map[string]bool{"clocks": true}
	var err error
	w.engine, err = engine.Open(w.t.Context(), engine.Options{
		Store: w.store, Now: w.now, CorrectClocks: streams, Rejects: rejects.Options{Limit: 1000, Retention: 365 * 24 * time.Hour, Quarantine: streams},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Ingester = ingest.New(ingest.Options{
		Router: w.engine.Router, Budget: wire.NewBudget(1 << 20), Now: w.now, Rejects: w.engine.Rejects, Clocks: w.engine.Clocks, Door: "test",
	})
}

func (w *clockWorld) restart() {
	w.t.Helper()
	if err := w.engine.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

// readingAt returns the JSON of a reading of device d1 with a sent time.
func readingAt(sent time.Time, value int) string {
	return fmt.Sprintf(`{"device":"d1","time":"%s","fields":{"v":%d}}`, sent.Format(time.RFC3339Nano), value)
}

// send sends lines and returns their verdicts: stored, duplicate, or the code of a rejection.
func (w *clockWorld) send(lines ...string) string {
	w.t.Helper()
	s, err := w.Begin(apikeys.Everything())
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	src := source(wire.NDJSON, strings.Join(lines, "\n"))
	src.Defaults.Stream = "clocks"
	var codes []string
	src.Rejected = func(r ingest.Rejection) { codes = append(codes, string(r.Verdict.Code)) }
	if err := s.Read(w.t.Context(), src); err != nil {
		w.t.Fatal(err)
	}
	for range s.Tally.Stored {
		codes = append(codes, "stored")
	}
	for range s.Tally.Duplicates {
		codes = append(codes, "duplicate")
	}
	return strings.Join(codes, " ")
}

func (w *clockWorld) expect(got, want, what string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// learn sends one reading a minute, with times of a clock that is ahead, until one is stored. It returns
// the last reading.
func (w *clockWorld) learn(ahead time.Duration, first int) (last string) {
	w.t.Helper()
	for i := range 5 {
		w.advance(time.Minute + time.Duration(i)*time.Second)
		want := "quarantined"
		if i == 4 {
			want = "stored"
		}
		last = readingAt(w.now().Add(ahead-time.Duration(i)*time.Second), first+i)
		w.expect(w.send(last), want, fmt.Sprint("learning ", i))
	}
	return last
}

// stored returns each stored reading as a text. The text has the field v, and the event time and the
// sent time relative to the arrival. If the reading has no sent time, the text has "-" instead.
func (w *clockWorld) stored() (all []string) {
	w.t.Helper()
	rows, err := w.engine.Query.Open(w.t.Context(), query.Query{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "clocks", Device: "d1"}, Window: varve.AllTime(), Consistent: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for {
		readings, err := rows.Next(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if len(readings) == 0 {
			return all
		}
		for i := range readings {
			r := &readings[i]
			sent := "-"
			if text := r.Field("time_sent").Text(); text != "" {
				at, err := time.Parse(time.RFC3339Nano, text)
				if err != nil {
					w.t.Fatal(err)
				}
				sent = at.Sub(r.Arrived).Round(time.Hour).String()
			}
			all = append(all, fmt.Sprintf("v=%s off by %s sent %s", r.Field("v"), r.Time.Sub(r.Arrived).Round(time.Minute), sent))
		}
	}
}

// TestCorrect_StoresEachReadingOnce learns the offset of a clock that is two days ahead. A
// corrected reading is resent immediately, after more than clocks.Tolerance, after a restart, and when
// the sent time is no longer in the future. Then the clock is repaired, and changes once more. Each reading
// must be stored once.
func TestCorrect_StoresEachReadingOnce(t *testing.T) {
	for name, open := range map[string]func(now func() time.Time) store.Store{
		"mem": func(now func() time.Time) store.Store { return mem.New(now) },
		"local": func(func() time.Time) store.Store {
			s, err := local.Open(local.Options{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newClockWorld(t, open)
			const ahead = 48 * time.Hour
			r := w.learn(ahead, 0)
			w.expect(w.send(r), "duplicate", "resent at once")
			w.advance(10 * time.Second)
			live := readingAt(w.now().Add(ahead), 10)
			w.expect(w.send(live, live), "stored duplicate", "live, twice in a request")
			w.advance(10 * time.Minute)
			w.expect(w.send(r, live), "duplicate duplicate", "resent beyond the tolerance")
			w.expect(w.send(readingAt(w.now().Add(ahead-5*time.Minute), 11)), "quarantined", "late")
			w.restart()
			w.expect(w.send(r, live), "duplicate duplicate", "resent after a restart")
			w.advance(30 * time.Hour)
			w.expect(w.send(r, live), "duplicate duplicate", "resent with an acceptable time")
			w.advance(40 * 24 * time.Hour)
			w.expect(w.send(r, live), "duplicate duplicate", "resent in another arrival month")
			w.expect(w.send(readingAt(w.now(), 20)), "stored", "repaired clock")
			w.learn(100*time.Hour, 30)
			w.expect(w.send(r, live), "duplicate duplicate", "resent after another offset")
			want := []string{
				"v=4 off by 0s sent 48h0m0s", "v=10 off by 0s sent 48h0m0s", "v=20 off by 0s sent -", "v=34 off by 0s sent 100h0m0s",
			}
			if got := w.stored(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("stored\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestCorrect_LearnsOnlyLiveTraffic checks that no clock offset is learned from a backlog in one request,
// from a backlog in many requests, or from an unsteady clock.
func TestCorrect_LearnsOnlyLiveTraffic(t *testing.T) {
	w := newClockWorld(t, func(now func() time.Time) store.Store { return mem.New(now) })
	var backlog []string
	for i := range 100 {
		backlog = append(backlog, readingAt(w.now().Add(48*time.Hour+time.Duration(i)*time.Second), i))
	}
	w.send(backlog...)
	for i := range 300 {
		w.advance(time.Second)
		w.expect(w.send(readingAt(noon.Add(72*time.Hour+time.Duration(10*i)*time.Second), i)), "quarantined", "backlog in many requests")
	}
	for i := range 20 {
		w.advance(time.Minute)
		w.expect(w.send(readingAt(w.now().Add(96*time.Hour+time.Duration(i%3)*time.Minute), i)), "quarantined", "unsteady clock")
	}
	if got := w.stored(); len(got) != 0 {
		t.Errorf("stored %s", got)
	}
}

// TestCorrect_LearnsAfterServerClockIsSetBack checks that an offset is learned despite samples from a time
// when the server's clock was ahead.
func TestCorrect_LearnsAfterServerClockIsSetBack(t *testing.T) {
	w := newClockWorld(t, func(now func() time.Time) store.Store { return mem.New(now) })
	w.advance(6 * time.Hour)
	w.expect(w.send(readingAt(w.now().Add(48*time.Hour), 0)), "quarantined", "a sample of the clock that is ahead")
	w.advance(-6 * time.Hour)
	w.learn(48*time.Hour, 1)
}

// TestCorrect_KeepsFieldOfSender checks that a reading with a field time_sent is not corrected.
func TestCorrect_KeepsFieldOfSender(t *testing.T) {
	w := newClockWorld(t, func(now func() time.Time) store.Store { return mem.New(now) })
	w.learn(48*time.Hour, 0)
	own := strings.Replace(readingAt(w.now().Add(48*time.Hour), 9), `"v":9`, `"v":9,"time_sent":"x"`, 1)
	w.expect(w.send(own), "quarantined", "with a field time_sent")
	w.expect(w.send(strings.Replace(readingAt(w.now().Add(48*time.Hour), 9), `"fields"`, `"id":"x","fields"`, 1)), "stored", "with an id")
	w.expect(w.send(strings.Replace(readingAt(w.now().Add(48*time.Hour), 8), `"fields"`, `"id":"x","fields"`, 1)), "conflict", "with other values")
}

// TestCorrect_StoresVersionsAtOneTime sends corrections of a corrected reading, with the same sent time.
// The first arrives while this time is in the future, and the others when it is acceptable. All of them must
// be stored with the same corrected time.
func TestCorrect_StoresVersionsAtOneTime(t *testing.T) {
	w := newClockWorld(t, func(now func() time.Time) store.Store { return mem.New(now) })
	w.learn(48*time.Hour, 0)
	sent := w.now().Add(48 * time.Hour)
	version := func(n, value int) string {
		return strings.Replace(readingAt(sent, value), `"fields"`, fmt.Sprintf(`"id":"x","version":%d,"fields"`, n), 1)
	}
	w.expect(w.send(version(0, 10)), "stored", "the first version")
	w.advance(time.Hour)
	w.expect(w.send(version(1, 11)), "stored", "a correction with a time in the future")
	w.advance(30 * time.Hour)
	w.expect(w.send(version(2, 12)), "stored", "a correction with an acceptable time")
	w.expect(w.send(version(2, 12), version(0, 10)), "duplicate duplicate", "resent versions")
	w.expect(w.send(version(2, 13)), "conflict", "a version with other values")
	if got, want := fmt.Sprint(w.stored()), "[v=4 off by 0s sent 48h0m0s v=12 off by -31h0m0s sent 17h0m0s]"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
}

// TestCorrect_AgreesAmongProcesses sends live readings to two processes in turn, and each reading once
// more to the other process. No reading may be stored twice.
func TestCorrect_AgreesAmongProcesses(t *testing.T) {
	a := newClockWorld(t, func(now func() time.Time) store.Store { return mem.New(now) })
	b := &clockWorld{t: t, store: a.store, at: a.at}
	b.start()
	defer func() {
		if err := b.engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	var sent []string
	for i := range 40 {
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		a.advance(31 * time.Second)
		sent = append(sent, readingAt(a.now().Add(48*time.Hour-time.Duration(i%7)*time.Second), i))
		first.send(sent[i])
		a.advance(time.Duration(i%3) * 50 * time.Second)
		second.send(sent[i])
	}
	a.advance(40 * time.Hour)
	for _, r := range sent {
		a.send(r)
		b.send(r)
	}
	values := map[string]int{}
	for _, r := range a.stored() {
		value, rest, _ := strings.Cut(r, " ")
		if values[value]++; values[value] > 1 || !strings.HasSuffix(rest, "sent 48h0m0s") && !strings.HasSuffix(rest, "sent -") {
			t.Errorf("%s: stored twice", r)
		}
	}
	if len(values) < 30 {
		t.Errorf("%d readings are stored, want at least 30", len(values))
	}
}
