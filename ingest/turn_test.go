package ingest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/ingest"
)

// watched is a destination that records the turns of its requests, and the writes without a turn.
type watched struct {
	held    bool
	begun   []bool // the argument "large" of each call of Begin
	written int
	late    int
	failure error // returned by Begin after the first call
}

func (w *watched) Admit() (ingest.Request, error) { return w, nil }
func (w *watched) Arrived() time.Time             { return noon }
func (w *watched) Turn() ingest.Turn              { return w }
func (w *watched) Done()                          {}

func (w *watched) Check([]varve.Reading, []varve.Verdict) {}

func (w *watched) Begin(_ context.Context, large bool) error {
	w.begun = append(w.begun, large)
	if len(w.begun) > 1 && w.failure != nil {
		return w.failure
	}
	w.held = large
	return nil
}

func (w *watched) End() bool {
	held := w.held
	w.held = false
	return held
}

func (w *watched) Write(_ context.Context, readings []varve.Reading, verdicts []varve.Verdict) error {
	if w.written += len(readings); !w.held {
		w.late += len(readings)
	}
	for i := range verdicts {
		verdicts[i] = varve.Verdict{Outcome: varve.Stored}
	}
	return nil
}

func (w *watched) begin(t *testing.T) *ingest.Session {
	t.Helper()
	s, err := ingest.New(ingest.Options{Destination: w, Budget: wire.NewBudget(0)}).Begin(&apikeys.Grant{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestBody_TakesTurnAtEnd checks that a large body is stored within a turn, even if its last bytes come
// together with its end, or with the error that ends it.
func TestBody_TakesTurnAtEnd(t *testing.T) {
	stalled := errors.New("stalled")
	for name, c := range map[string]struct {
		body io.Reader
		want error
	}{
		"end":   {iotest.DataErrReader(strings.NewReader(lines(100))), nil},
		"error": {io.MultiReader(strings.NewReader(lines(100)), iotest.ErrReader(stalled)), stalled},
	} {
		w := &watched{}
		s := w.begin(t)
		src := source(wire.NDJSON, "")
		src.Body, src.Large = s.Body(t.Context(), io.NopCloser(c.body)), true
		err := s.Read(t.Context(), src)
		if !errors.Is(err, c.want) || w.written == 0 || w.late > 0 {
			t.Errorf("%s: %v, %d readings were written, %d of them without a turn", name, err, w.written, w.late)
		}
	}
}

// TestBody_FailsWithoutTurn checks that a body fails if its session gets no turn for the rest.
func TestBody_FailsWithoutTurn(t *testing.T) {
	w := &watched{failure: errors.New("the request took too long")}
	s := w.begin(t)
	src := source(wire.NDJSON, "")
	src.Body, src.Large = s.Body(t.Context(), io.NopCloser(iotest.DataErrReader(strings.NewReader(lines(1))))), true
	if err := s.Read(t.Context(), src); !errors.Is(err, w.failure) {
		t.Errorf("%v, want %v", err, w.failure)
	}
}

// TestCheck_BeginsAsSmall checks that the check of a small body takes the turn of a small one, and only
// further batches the turn of a large one.
func TestCheck_BeginsAsSmall(t *testing.T) {
	w := &watched{}
	if n, err := w.begin(t).Check(t.Context(), source(wire.NDJSON, lines(1))); n != 1 || err != nil || w.begun[0] {
		t.Errorf("%d readings, %v, large turns: %v; want 1 reading and a small turn", n, err, w.begun)
	}
	w = &watched{}
	n, err := w.begin(t).Check(t.Context(), source(wire.NDJSON, lines(wire.BatchReadings+1)))
	if n != wire.BatchReadings+1 || err != nil || len(w.begun) < 2 || w.begun[0] || !w.begun[1] {
		t.Errorf("%d readings, %v, large turns: %v; want a small turn and then large ones", n, err, w.begun)
	}
}
