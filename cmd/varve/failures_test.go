package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/rotator"
)

// TestFailures_AreLoggedAtIntervals checks that a repeated failure is logged at intervals, with the
// number of omitted messages.
func TestFailures_AreLoggedAtIntervals(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	f := newFailures(zerolog.New(&out), func() time.Time { return at })
	for range 100 {
		f.failed("pack a", errors.New("disk full"))
		f.failed("pack b", errors.New("disk full"))
		at = at.Add(time.Second / 2)
	}
	text := out.String()
	for _, what := range []string{`"task":"pack a"`, `"task":"pack b"`} {
		if n := strings.Count(text, what); n != 5 {
			t.Errorf("%s is there %d times, want 5:\n%s", what, n, text)
		}
	}
	if n := strings.Count(text, `"left_out":19`); n != 8 {
		t.Errorf("%d lines say what was left out, want 8:\n%s", n, text)
	}
	at = at.Add(time.Hour)
	f.failed("pack c", errors.New("disk full"))
	if len(f.last) != 1 {
		t.Errorf("%d failures are remembered, and one is recent", len(f.last))
	}
}

// TestConditions_AreLogged checks that a condition is logged when it is set and when it is cleared,
// each at most every ten seconds.
func TestConditions_AreLogged(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	c := health.New(health.Options{Changed: newFailures(zerolog.New(&out), func() time.Time { return at }).changed})
	for range 30 {
		c.Set(health.DiskLow, "3 MiB free")
		c.Clear(health.DiskLow)
		at = at.Add(time.Second)
	}
	for _, want := range []string{`"level":"error","condition":"disk_low","detail":"3 MiB free"`, `"level":"info","condition":"disk_low"`} {
		if n := strings.Count(out.String(), want); n != 3 {
			t.Errorf("%s is there %d times, want 3:\n%s", want, n, out.String())
		}
	}
}

// TestUnavailable_IsLoggedAtIntervals checks that requests that a store refuses are logged at
// intervals, and other failures each time.
func TestUnavailable_IsLoggedAtIntervals(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	f := newFailures(zerolog.New(&out), func() time.Time { return at })
	r := httptest.NewRequest(http.MethodPost, "/v1/streams/s/readings", nil)
	for range 20 {
		f.request(r, varve.Errorf(varve.Unavailable, "the disk is full"))
		f.request(r, errors.New("broken"))
		at = at.Add(time.Second)
	}
	if full, broken := strings.Count(out.String(), "the disk is full"), strings.Count(out.String(), "broken"); full != 2 || broken != 20 {
		t.Errorf("%d and %d lines, want 2 and 20:\n%s", full, broken, out.String())
	}
}

// TestRotationElsewhere_IsNotError checks that a rotation that is running in another process is not
// an error.
func TestRotationElsewhere_IsNotError(t *testing.T) {
	var out bytes.Buffer
	finished := engineEvents(zerolog.New(&out)).Rotator.Finished
	finished(&rotator.Plan{}, time.Second, fmt.Errorf("lease rotator: %w", lease.ErrHeld))
	if text := out.String(); strings.Contains(text, "error\",") || !strings.Contains(text, `"level":"debug"`) {
		t.Error(text)
	}
}

func TestCloseWithin_LimitsWait(t *testing.T) {
	broken := errors.New("broken")
	if err := closeWithin(time.Minute, func() error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	block := make(chan struct{})
	defer close(block)
	err := closeWithin(time.Millisecond, func() error { <-block; return nil })
	if !errors.Is(err, errSlowClose) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
