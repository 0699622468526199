package alerts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
)

// TestNewerWrite_IsNotReadBack checks that a single process does not read back the samples of a
// newer write, whatever their order in the write. It must read stored samples if a reading is older
// or a duplicate, or if the write begins inside an episode.
func TestNewerWrite_IsNotReadBack(t *testing.T) {
	w := newWorld(t, atomically)
	w.rule(gapped(5, 0, 0))
	w.send(valued(0, 9), valued(1, 1)) // reads all stored samples to the end
	for _, c := range []struct {
		reason string
		write  []varve.Reading
		reads  bool
		want   string
	}{
		{"newer, in order", []varve.Reading{valued(10, 1), valued(11, 9), valued(12, 9), valued(13, 1)}, false, "0-0-1 11-11-13"},
		{"newer, out of order", []varve.Reading{valued(23, 1), valued(21, 9), valued(20, 1), valued(22, 9)}, false, "0-0-1 11-11-13 21-21-23"},
		{"a duplicate", []varve.Reading{valued(23, 1), valued(24, 9)}, true, "0-0-1 11-11-13 21-21-23 24-24-"},
		{"late", []varve.Reading{valued(12, 9), valued(14, 9)}, true, "0-0-1 11-11-13 14-14-20 21-21-23 24-24-"},
		{"a cut", []varve.Reading{valued(22, 9), named(22, 1)}, true, "0-0-1 11-11-13 14-14-20 21-21-22 24-24-"},
		{"newer again", []varve.Reading{valued(26, 1), valued(30, 9)}, true, "0-0-1 11-11-13 14-14-20 21-21-22 24-24-26 30-30-"},
	} {
		before := w.read
		for _, v := range w.send(c.write...) {
			if v.Outcome == varve.Rejected {
				t.Errorf("%s: %s", c.reason, v)
			}
		}
		if read := w.read - before; (read > 0) != c.reads {
			t.Errorf("%s: %d readings were read, want some: %t", c.reason, read, c.reads)
		}
		if got := w.summary(); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestNewestSample_BelongsToOneRule checks that an evaluation misses no stored reading after a rule
// is added, or after an evaluation has failed.
func TestNewestSample_BelongsToOneRule(t *testing.T) {
	w := newWorld(t, atomically)
	w.rule(gapped(5, 0, 0))
	w.send(valued(0, 1))
	w.send(valued(10, 9))
	second := gapped(7, 2*time.Second, 0)
	second.ID = "second"
	w.rule(second)
	w.send(valued(12, 9))
	var hit bool
	w.items.FailWrites(failNthOf(1, &hit, "RUN#"))
	if v := w.send(valued(13, 1), valued(14, 9)); !hit || !v[0].Code.Retryable() {
		t.Fatalf("reached %t, %s", hit, v[0])
	}
	w.items.FailWrites(nil)
	w.send(valued(13, 1), valued(14, 9))
	if got, want := unordered(w.summary()), unordered("10-10-13 10-12-13 14-14-"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := len(w.alerts(alerts.AlertList{Rule: "second"})); n != 1 {
		t.Errorf("%d alerts of the second rule, want 1", n)
	}
}
