package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store/mem"
)

// TestEngine_IgnoresOrderOfArrival writes readings of three months in order, and in random order
// with duplicates. The writes take two months. The latest readings, the alerts and the roll-ups
// must be the same for both orders.
func TestEngine_IgnoresOrderOfArrival(t *testing.T) {
	var inOrder string
	for seed := range uint64(4) {
		clock := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		all := quarter(clock)
		if seed > 0 {
			rng := rand.New(rand.NewPCG(seed, 0))
			for range len(all) / 5 {
				all = append(all, all[rng.IntN(len(all))])
			}
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		got := afterAll(t, clock, all)
		if seed == 0 {
			inOrder = got
		}
		if got != inOrder || strings.Count(got, "alert") < 10 {
			t.Errorf("seed %d:\n%s\nin order:\n%s", seed, got, inOrder)
		}
	}
}

// TestEngine_IgnoresOrderOfVersions writes corrected readings in order, and in random order with lower
// versions that have other values. The latest readings, the alerts and the roll-ups must be the same.
func TestEngine_IgnoresOrderOfVersions(t *testing.T) {
	var inOrder string
	for seed := range uint64(4) {
		clock := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		rng := rand.New(rand.NewPCG(seed, 0))
		var all []varve.Reading
		for i, r := range quarter(clock) {
			id, err := varve.ParseID(fmt.Sprint("r", i))
			if err != nil {
				t.Fatal(err)
			}
			highest := uint32(i % 3)
			for version := range highest {
				if seed == 0 || rng.IntN(3) == 0 {
					continue
				}
				wrong := r.Clone()
				wrong.ID = id.WithVersion(version)
				wrong.Fields[0].Value = varve.IntValue(rng.Int64N(10))
				all = append(all, wrong)
			}
			r.ID = id.WithVersion(highest)
			all = append(all, r)
		}
		if seed > 0 {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		got := afterAll(t, clock, all)
		if seed == 0 {
			inOrder = got
		}
		if got != inOrder || strings.Count(got, "alert") < 10 {
			t.Errorf("seed %d:\n%s\nin order:\n%s", seed, got, inOrder)
		}
	}
}

// quarter returns readings of two devices in the three months before a time.
func quarter(now time.Time) (all []varve.Reading) {
	rng := rand.New(rand.NewPCG(7, 7))
	for at := now.Add(-90 * 24 * time.Hour); at.Before(now); at = at.Add(time.Duration(1+rng.IntN(600)) * time.Minute) {
		all = append(all, varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: []string{"a", "b"}[rng.IntN(2)]}, Time: at,
			Fields: []varve.Field{{Name: "v", Value: varve.NumberValue(decimal.FromScaled(rng.Int64N(100), -1))}},
		})
	}
	return all
}

// afterAll writes readings over two months and describes the result.
func afterAll(t *testing.T, clock time.Time, all []varve.Reading) string {
	t.Helper()
	var passed atomic.Int64 // nanoseconds since the time in the argument "clock"
	now := func() time.Time { return clock.Add(time.Duration(passed.Load())) }
	e := open(t, engine.Options{Store: mem.New(now), Now: now})
	rule := alerts.Rule{
		Tenant: varve.DefaultTenant, Stream: "weather", Field: "v", Comparison: ">", Threshold: varve.IntValue(6), For: time.Hour, Severity: alerts.Warning,
	}
	if _, _, err := e.Alerts.AddRule(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	const writes = 60
	for i := range writes {
		passed.Add(int64(24 * time.Hour))
		part := all[i*len(all)/writes : (i+1)*len(all)/writes]
		req, err := e.Router.Admit()
		if err != nil {
			t.Fatal(err)
		}
		batch, verdicts := make([]varve.Reading, len(part)), make([]varve.Verdict, len(part))
		for j := range part {
			batch[j] = part[j].Clone()
		}
		if err := req.Write(t.Context(), batch, verdicts); err != nil {
			t.Fatal(err)
		}
		req.Done()
		for j, v := range verdicts {
			if v.Outcome == varve.Rejected {
				t.Fatalf("%s: %s", &part[j], v)
			}
		}
		if _, err := e.Rotator.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Aggregator.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return described(t, e, "a") + described(t, e, "b")
}

// described returns the latest reading, the alerts and the roll-ups of a device as text.
func described(t *testing.T, e *engine.Engine, device string) string {
	t.Helper()
	var b strings.Builder
	s := varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}
	latest, err := e.Query.Latest(t.Context(), query.LatestQuery{Series: s})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, device, latest.Reading.Time, latest.Reading.Field("v"))
	page, err := e.Alerts.Alerts(t.Context(), alerts.AlertList{Tenant: s.Tenant, Device: device, Limit: 1000})
	if err != nil || page.Next != "" {
		t.Fatal(page.Next, err)
	}
	for _, a := range page.Items {
		fmt.Fprintln(&b, "alert", a.ID, a.Value, a.Since, a.OpenedAt, a.ResolvedAt, a.ResolvedBy)
	}
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		rolled, err := e.Rollups.Read(t.Context(), rollup.Query{Series: s, Period: p, Window: varve.AllTime(), Limit: rollup.MaxLimit})
		if err != nil || !rolled.Next.IsZero() {
			t.Fatal(rolled.Next, err)
		}
		for _, r := range rolled.Rollups {
			f := r.Field("v")
			fmt.Fprintln(&b, p, r.Start, r.Readings, f.Count, f.Sum.String(), f.Min, f.Max, f.First, f.Last)
		}
	}
	return b.String()
}
