package ingest_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/store/mem"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is an ingester over an engine in memory, with a clock that always returns noon.
type world struct {
	*ingest.Ingester
	engine *engine.Engine
	judged int // number of readings whose verdicts were counted
}

func newWorld(t *testing.T) *world {
	t.Helper()
	now := func() time.Time { return noon }
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(now), Now: now, MaxRequests: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{engine: e}
	w.Ingester = ingest.New(ingest.Options{
		Router: e.Router, Budget: wire.NewBudget(1 << 20), Now: now,
		Judged: func(b *wire.Batch) { w.judged += b.Len() },
	})
	return w
}

// begin begins a session, which is closed at the end of the test.
func (w *world) begin(t *testing.T, g *apikeys.Grant) *ingest.Session {
	t.Helper()
	s, err := w.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// lines returns n readings as NDJSON, with times from an hour before noon on.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"device":"d1","time":%d,"fields":{"a":%d}}`+"\n", noon.Add(-time.Hour).UnixMilli()+int64(i), i)
	}
	return b.String()
}

func source(f wire.Format, body string) *ingest.Source {
	return &ingest.Source{Format: f, Body: strings.NewReader(body), Defaults: wire.Defaults{Tenant: varve.DefaultTenant, Stream: "weather"}}
}

// TestRead_CountsAndReportsVerdicts checks the tally and the rejections of a source of several
// batches.
func TestRead_CountsAndReportsVerdicts(t *testing.T) {
	w := newWorld(t)
	s := w.begin(t, apikeys.Everything())
	n := 2*wire.BatchReadings + 10
	src := source(wire.NDJSON, lines(n)+"bad\n"+lines(3)+`{"device":"d1","fields":{"a":1}}`)
	var rejected []string
	src.Rejected = func(r ingest.Rejection) {
		rejected = append(rejected, fmt.Sprint(r.Index, " ", r.Line, " ", r.Verdict.Code))
	}
	if err := s.Read(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	if want := (wire.Tally{Stored: int64(n), Duplicates: 3, Rejected: 2}); s.Tally != want || s.Retryable {
		t.Errorf("%+v, retryable %t, want %+v", s.Tally, s.Retryable, want)
	}
	if got, want := fmt.Sprint(rejected), fmt.Sprintf("[%d %d malformed %d %d time_missing]", n, n+1, n+4, n+5); got != want {
		t.Errorf("rejected %s, want %s", got, want)
	}
	if w.judged != n+5 {
		t.Errorf("%d readings were judged, want %d", w.judged, n+5)
	}
}

// TestRead_KeepsEarlierBatches checks that readings before an error of the source are stored and
// counted.
func TestRead_KeepsEarlierBatches(t *testing.T) {
	w := newWorld(t)
	s := w.begin(t, apikeys.Everything())
	cut := errors.New("cut off")
	src := source(wire.NDJSON, "")
	src.Body = io.MultiReader(strings.NewReader(lines(wire.BatchReadings+7)), failing{cut})
	if err := s.Read(t.Context(), src); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	if s.Tally.Stored != wire.BatchReadings+7 {
		t.Errorf("%d readings were stored", s.Tally.Stored)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestRead_GivesUpOnOtherData checks that a source without readings is not parsed to its end.
// Read fails soon after 200,000 invalid readings, which maxInvalid allows for such a source.
func TestRead_GivesUpOnOtherData(t *testing.T) {
	w := newWorld(t)
	s := w.begin(t, apikeys.Everything())
	err := s.Read(t.Context(), source(wire.NDJSON, strings.Repeat("{}\n", 300_000)))
	if !strings.Contains(fmt.Sprint(err), "most readings are invalid") || s.Tally.Rejected > 250_000 {
		t.Errorf("%v after %d rejections", err, s.Tally.Rejected)
	}
}

// TestBegin_Refuses checks that Begin refuses a session beyond the limit of the router, and a
// session of a key that exceeded its rate. Ended sessions do not count.
func TestBegin_Refuses(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		a, b := w.begin1(t), w.begin1(t)
		if _, err := w.Begin(apikeys.Everything()); !busy(err) {
			t.Fatalf("a third session: %v", err)
		}
		a.Close()
		b.Close()
	}
	key := w.limited(t)
	s := w.begin(t, key)
	if err := s.Read(t.Context(), source(wire.NDJSON, lines(50))); err != nil || s.Tally.Stored != 50 {
		t.Fatal(err, s.Tally)
	}
	if _, err := w.Begin(key); !busy(err) || !strings.Contains(err.Error(), "rate of readings") {
		t.Errorf("a session of a key without readings left: %v", err)
	}
}

// begin1 begins a session that the caller must end.
func (w *world) begin1(t *testing.T) *ingest.Session {
	t.Helper()
	s, err := w.Begin(apikeys.Everything())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// limited returns the grant of a key with a rate of one reading a second.
func (w *world) limited(t *testing.T) *apikeys.Grant {
	t.Helper()
	_, text, err := w.engine.Keys.Create(t.Context(), apikeys.Draft{Scopes: apikeys.Write | apikeys.Admin, Rate: apikeys.Rate{Readings: 1}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.engine.Keys.Check(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func busy(err error) bool {
	var e *varve.Error
	return errors.As(err, &e) && e.Failure == varve.Busy
}
