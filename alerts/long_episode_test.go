package alerts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

// TestLongEpisode_IsNotReadToItsEnds extends, ends and splits a long episode. Each write must
// read only a part of the episode.
func TestLongEpisode_IsNotReadToItsEnds(t *testing.T) {
	const n = 20_000
	w := newWorld(t)
	w.rule(above(5, 3*time.Second))
	var all []varve.Reading
	for i := range n {
		all = append(all, valued(i, 9))
	}
	w.send(all...)
	for _, c := range []struct {
		reason string
		r      varve.Reading
		most   int // maximum number of readings that are read; the large numbers are a few times trustAfter (1000)
		want   string
	}{
		{"goes on", valued(n, 9), 1, "0-3-"},
		{"late, and inside", reading("d", noon.Add(10_000*time.Second+1), varve.Field{Name: "v", Value: varve.IntValue(8)}), 1, "0-3-"},
		{"cut", valued(10_000, 1), 4100, "0-3-10000 10000-10004-"},
		{"ends", valued(n+1, 1), 2100, "0-3-10000 10000-10004-20001"},
		{"holds no more", valued(n+2, 1), 0, "0-3-10000 10000-10004-20001"},
	} {
		before := w.read
		w.send(c.r)
		if got := w.read - before; got > c.most {
			t.Errorf("%s: %d readings are read, at most %d", c.reason, got, c.most)
		}
		if got := strings.ReplaceAll(w.summary(), "L", ""); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
	if n := len(w.alerts(alerts.AlertList{})); n != 2 {
		t.Errorf("%d alerts", n)
	}
}
