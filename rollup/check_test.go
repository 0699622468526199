package rollup_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
)

// sample checks each hour for which w.model has a reading, and returns the differences and
// outcomes.
func (w *world) sample(alive bool) (found []string, done rollup.Outcomes) {
	w.t.Helper()
	all := rollup.NewHourSample(10_000, 1)
	for _, c := range w.model {
		all.Add(c.copies[0].Series, c.copies[0].Time)
	}
	yes := func(context.Context, varve.Series, time.Time) (bool, error) { return alive, nil }
	r := rollup.NewReader(w.store, w.source(w.now), w.resent)
	done, err := all.Check(context.Background(), r, yes, func(d rollup.Difference) { found = append(found, fmt.Sprint(d.Series, " ", d.String())) })
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return found, done
}

// TestCheck_FindsNothingInSoundRollups checks that correct partials have no differences, and that
// dirty hours are skipped.
func TestCheck_FindsNothingInSoundRollups(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorld(t)
		w.fill(rand.New(rand.NewPCG(seed, 2)))
		if found, done := w.sample(true); len(found) > 0 || done[rollup.Dirty] == 0 {
			t.Fatalf("while dirty: %v, %v", done, found)
		}
		w.clock = w.clock.Add(3 * time.Hour)
		(&steps{world: w}).finish()
		if found, done := w.sample(true); len(found) > 0 || done[rollup.Compared] == 0 || done[rollup.Dirty] > 0 {
			t.Fatalf("at rest: %v, %v", done, found)
		}
	}
}

// TestCheck_FindsEachAlteration alters a partial in several ways. Check must report each
// alteration with its period, but nothing if readings may have expired.
func TestCheck_FindsEachAlteration(t *testing.T) {
	at := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	line := func(from, to string) func(*store.Item) {
		return func(it *store.Item) {
			text := strings.Replace(it.Attrs["fields"].Text(), from, to, 1)
			it.Attrs["fields"] = varve.StringValue(text)
		}
	}
	for _, c := range []struct {
		kind, problem string
		change        func(it *store.Item)
	}{
		{"H#", "field v: sum is 7, and the readings make 6", line("\t6\t", "\t7\t")},
		{"H#", "field v: count is 3, and the readings make 2", line("v\t2", "v\t3")},
		{"H#", "field v: is missing, and the readings have 2 numbers", line("v", "u")},
		{"H#", "field u: is in no reading", line("v", "u")},
		{"H#", "readings is 3, and 2 are stored", func(it *store.Item) { it.Attrs["readings"] = varve.IntValue(3) }},
		{"H#", "readings is -1, and 2 are stored", func(it *store.Item) { it.Attrs["readings"] = varve.IntValue(-1) }},
		{"H#", "is of other readings than are stored", func(it *store.Item) { it.Attrs["digest"] = varve.IntValue(5) }},
		{"H#", "line \"what\"", func(it *store.Item) { it.Attrs["fields"] = varve.StringValue("what") }},
		{"H#", "part 1 of 2 is missing", func(it *store.Item) { it.Attrs["parts"] = varve.IntValue(2) }},
		{"H#", "is missing, and 2 readings are stored", nil},
		{"D#", "readings is 9, and its hours have 2", func(it *store.Item) { it.Attrs["readings"] = varve.IntValue(9) }},
		{"D#", "is of other readings than its hours", func(it *store.Item) { it.Attrs["digest"] = varve.IntValue(5) }},
		{"D#", "field v: sum is 7, and the readings make 6", line("\t6\t", "\t7\t")},
		{"D#", "is missing, and its hours have 2 readings", nil},
	} {
		w := newWorld(t)
		w.send(0, nil, w.reading("a", at), w.reading("a", at.Add(time.Minute)))
		w.clock = w.clock.Add(4 * time.Hour)
		(&steps{world: w}).finish()
		w.alter(c.kind, c.change)
		found, done := w.sample(true)
		period := map[string]string{"H#": "hourly roll-up of 2026-11-28T10:00:00Z", "D#": "daily roll-up of 2026-11-28T00:00:00Z"}[c.kind]
		named := false
		for _, f := range found {
			named = named || strings.HasPrefix(f, "acme/weather/a "+period+", arrived 2026-11-28: ") && strings.Contains(f, c.problem)
		}
		if !named || done[rollup.Compared] != 1 {
			t.Errorf("%s: %v, found %q", c.problem, done, found)
		}
		if found, done := w.sample(false); len(found) > 0 || done[rollup.ReadingGone] != 1 {
			t.Errorf("%s, expired: %v, found %q", c.problem, done, found)
		}
	}
}

// alter calls the function "change" for the stored partials whose sort keys begin with "kind", and
// writes the results. If change is nil, it deletes these partials.
func (w *world) alter(kind string, change func(it *store.Item)) {
	w.t.Helper()
	for _, it := range w.rollupItems() {
		if !strings.HasPrefix(it.SK, kind) {
			continue
		}
		if change == nil {
			if err := w.store.DeleteAll(context.Background(), []store.Key{it.Key}); err != nil {
				w.t.Fatalf("%v", err)
			}
			continue
		}
		change(&it)
		if err := w.store.Put(context.Background(), it); err != nil {
			w.t.Fatalf("%v", err)
		}
	}
}
