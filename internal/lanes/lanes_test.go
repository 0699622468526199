package lanes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/internal/lanes"
)

// TestEnter_LimitsLargeRequests checks that after a small write, Enter admits only as many large
// requests as Slots returns. A waiting Enter fails when its context ends.
func TestEnter_LimitsLargeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lanes.New(time.Now)
		l.Small()
		for range lanes.Slots() {
			if hasSlot, err := l.Enter(t.Context()); !hasSlot || err != nil {
				t.Fatalf("a slot is free, but Enter returned %t, %v", hasSlot, err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if hasSlot, err := l.Enter(ctx); hasSlot || !errors.Is(err, gone) {
			t.Fatalf("no slot is free, but Enter returned %t, %v", hasSlot, err)
		}
		entered := make(chan error)
		go func() {
			_, err := l.Enter(t.Context())
			entered <- err
		}()
		synctest.Wait()
		select {
		case err := <-entered:
			t.Fatalf("no slot is free, but Enter returned %v", err)
		default:
		}
		l.Leave()
		if err := <-entered; err != nil {
			t.Fatal(err)
		}
	})
}

// TestEnter_IsFreeWithoutSmallWrites checks that large requests do not wait if the last small
// write arrived more than a second ago.
func TestEnter_IsFreeWithoutSmallWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lanes.New(time.Now)
		l.Small()
		<-time.After(time.Second + 1) // with the fake clock of synctest
		for range 4 * lanes.Slots() {
			if hasSlot, err := l.Enter(t.Context()); hasSlot || err != nil {
				t.Fatalf("no small write arrives, but Enter returned %t, %v", hasSlot, err)
			}
		}
	})
}

// clock is a clock that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// TestPace_RestsAsLongAsItComputed checks the lengths of rests. The clock does not advance by
// itself; only the test moves it.
func TestPace_RestsAsLongAsItComputed(t *testing.T) {
	cases := []struct {
		reason   string
		small    bool
		computed []time.Duration // times of computing before each call of Rest
		rest     time.Duration   // sum of all rests with one slot; with more slots, rests are shorter
	}{
		{"no small writes", false, []time.Duration{time.Second}, 0},
		{"less than a slice", true, []time.Duration{900 * time.Microsecond}, 0},
		{"a slice in two parts", true, []time.Duration{900 * time.Microsecond, 100 * time.Microsecond}, time.Millisecond},
		{"two slices", true, []time.Duration{2 * time.Millisecond, time.Millisecond}, 3 * time.Millisecond},
		{"stopped by others", true, []time.Duration{400 * time.Millisecond}, 5 * time.Millisecond},
		{"long after the last small write", true, []time.Duration{1100 * time.Millisecond}, 0},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := &clock{at: time.Now()}
				l := lanes.New(at.now)
				if c.small {
					l.Small()
				}
				pace, begin := l.Pace(), time.Now()
				for _, d := range c.computed {
					at.at = at.at.Add(d)
					pace.Rest()
				}
				if rest, want := time.Since(begin), c.rest/time.Duration(lanes.Slots()); rest != want && c.rest != 5*time.Millisecond || rest > c.rest {
					t.Errorf("rested for %s, want %s", rest, want)
				}
			})
		})
	}
}

// TestPace_IgnoresPauses checks that time before Begin does not count as computing.
func TestPace_IgnoresPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := &clock{at: time.Now()}
		l := lanes.New(at.now)
		l.Small()
		pace, begin := l.Pace(), time.Now()
		at.at = at.at.Add(500 * time.Millisecond)
		pace.Begin()
		pace.Rest()
		if rest := time.Since(begin); rest != 0 {
			t.Errorf("rested for %s after a pause", rest)
		}
	})
}

// TestEnter_IgnoresClockSetBack records a small write, and sets the clock back by an hour. Enter must then not
// limit large requests. A small write that is slightly in the future must limit them.
func TestEnter_IgnoresClockSetBack(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	l := lanes.New(func() time.Time { return now })
	l.Small()
	now = now.Add(-100 * time.Millisecond)
	if hasSlot, err := l.Enter(t.Context()); !hasSlot || err != nil {
		t.Fatalf("Enter returned %t, %v, want a slot", hasSlot, err)
	}
	l.Leave()
	now = now.Add(-time.Hour)
	if hasSlot, err := l.Enter(t.Context()); hasSlot || err != nil {
		t.Errorf("Enter returned %t, %v, want no slot", hasSlot, err)
	}
}
