package rollup_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// puts is a store that counts the calls of PutAll and their items. With err set, PutAll fails.
type puts struct {
	*mem.Store
	calls, markers int
	err            error
}

func (p *puts) PutAll(ctx context.Context, items []store.Item) error {
	if p.err != nil {
		return p.err
	}
	p.calls, p.markers = p.calls+1, p.markers+len(items)
	return p.Store.PutAll(ctx, items)
}

func bare(device string, at time.Time) varve.Reading {
	return varve.Reading{Series: varve.Series{Tenant: "acme", Stream: "weather", Device: device}, Time: at}
}

// TestMarkDirty_ChoosesMarkers checks the markers that are put for some readings, and the time
// until which the readings may be written.
func TestMarkDirty_ChoosesMarkers(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := noon
	items := &puts{Store: mem.New(nil)}
	m := rollup.NewTracker(items, func() time.Time { return clock })
	steps := []struct {
		reason string
		now    time.Duration   // clock, as the time after noon
		ago    []time.Duration // event times of the readings, as the time before the clock
		put    string          // expected new markers, as markerText formats them
		by     time.Duration   // expected deadline of the write, as the time after noon
	}{
		{"the current hour's lasts half an hour longer", 0, []time.Duration{0, -time.Minute}, "12:00 until 13:30, 1h", 89 * time.Minute},
		{"it is remembered", 59 * time.Minute, []time.Duration{0}, "", 89 * time.Minute},
		{"the next hour's, for a clock ahead", 59 * time.Minute, []time.Duration{-2 * time.Minute}, "13:00 until 14:30, 1h", 149 * time.Minute},
		{"late readings rely on what is there", 80 * time.Minute, []time.Duration{time.Hour}, "", 89 * time.Minute},
		{"but not in its last five minutes", 85 * time.Minute, []time.Duration{time.Hour}, "12:00 until 14:00, 1h", 119 * time.Minute},
		{"the second late hour marks the day", 85 * time.Minute, []time.Duration{3 * time.Hour}, "00:00 until 14:00, 24h", 119 * time.Minute},
		{"and so covers others", 86 * time.Minute, []time.Duration{5 * time.Hour, 6 * time.Hour, time.Minute}, "", 119 * time.Minute},
		{"a long upload takes two a day", 90 * time.Minute, []time.Duration{40 * time.Hour, 39 * time.Hour, 38 * time.Hour}, "00:00 until 14:30, 24h; 21:00 until 14:30, 1h", 149 * time.Minute},
	}
	seen := map[string]bool{}
	for _, s := range steps {
		clock = noon.Add(s.now)
		var readings []varve.Reading
		for _, ago := range s.ago {
			readings = append(readings, bare("a", clock.Add(-ago)))
		}
		by, err := m.MarkDirty(t.Context(), clock, readings, make([]varve.Verdict, len(readings)))
		if err != nil || !by.Equal(noon.Add(s.by)) {
			t.Errorf("%s: by %s, want %s, %v", s.reason, by.Sub(noon), s.by, err)
		}
		page, err := items.Query(t.Context(), store.ItemQuery{PK: "ROLLUP#acme/weather/a", From: "X#", To: store.PrefixEnd("X#")})
		if err != nil {
			t.Fatal(err)
		}
		var put []string
		for _, it := range page.Items {
			if seen[it.SK] {
				continue
			}
			seen[it.SK] = true
			put = append(put, markerText(t, it.SK))
		}
		if got := strings.Join(put, "; "); got != s.put {
			t.Errorf("%s: %q, want %q", s.reason, got, s.put)
		}
	}
}

// markerText formats the key of a marker. It shows times as the time of day.
func markerText(t *testing.T, sk string) string {
	t.Helper()
	part := strings.Split(sk, "#")
	at := func(sec string) string {
		d, err := time.ParseDuration(sec + "s")
		if err != nil {
			t.Fatal(err)
		}
		return time.Unix(0, 0).UTC().Add(d).Format("15:04")
	}
	return at(part[1]) + " until " + at(part[3]) + ", " + strings.TrimPrefix(part[4], "0") + "h"
}

// TestMarkDirty_PutsBatchOnce checks that a batch needs one call of the store, and that readings
// with a verdict need none. Around midnight, both arrival days must be marked. Markers whose
// write failed must not be remembered.
func TestMarkDirty_PutsBatchOnce(t *testing.T) {
	clock := time.Date(2026, 11, 21, 23, 50, 0, 0, time.UTC)
	items := &puts{Store: mem.New(nil), err: errors.New("no")}
	m := rollup.NewTracker(items, func() time.Time { return clock })
	var readings []varve.Reading
	for i := range 100 {
		readings = append(readings, bare(string(rune('0'+i)), clock), bare(string(rune('0'+i)), clock.Add(1)))
	}
	verdicts := make([]varve.Verdict, len(readings))
	verdicts[0], verdicts[1] = varve.Reject(varve.CodeMalformed, "x"), varve.Reject(varve.CodeMalformed, "x")
	if _, err := m.MarkDirty(t.Context(), clock, readings, verdicts); !errors.Is(err, items.err) {
		t.Errorf("%v", err)
	}
	items.err = nil
	for range 2 {
		if _, err := m.MarkDirty(t.Context(), clock, readings, verdicts); err != nil || items.calls != 1 || items.markers != 2*99 {
			t.Errorf("%d calls, %d marks, %v", items.calls, items.markers, err)
		}
	}
	if _, err := m.MarkDirty(t.Context(), clock, readings[:2], verdicts); err != nil || items.calls != 1 || items.markers != 2*99 {
		t.Errorf("nothing to mark: %d calls, %d markers, %v", items.calls, items.markers, err)
	}
	// A request that arrived yesterday marks all arrival days since then.
	clock = clock.Add(30 * time.Hour)
	if _, err := m.MarkDirty(t.Context(), clock.Add(-30*time.Hour), readings[2:3], verdicts[2:3]); err != nil || items.markers != 2*99+3 {
		t.Errorf("%d marks, %v", items.markers, err)
	}
}
