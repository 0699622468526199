package main

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestMeasured_ReadsOncePerPeriod checks that scrapes never wait, and that a value is measured once in
// each interval. Measurements must not overlap, and a failure must show as NaN until the next success.
func TestMeasured_ReadsOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads, fails := 0, false
		m := &measured{every: time.Minute, value: math.NaN(), load: func(context.Context) (float64, error) {
			time.Sleep(time.Second) //nolint:forbidigo // synctest skips this wait
			if loads++; fails {
				return 0, errors.New("no answer")
			}
			return float64(loads), nil
		}}
		begin := time.Now()
		for range 3 {
			if got := m.read(); !math.IsNaN(got) {
				t.Errorf("before the first measurement: %v", got)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("a scrape waits for %s", took)
		}
		after := func(wait time.Duration) float64 {
			time.Sleep(wait) //nolint:forbidigo // synctest skips this wait
			synctest.Wait()
			return m.read()
		}
		for _, step := range []struct {
			wait time.Duration
			want float64
		}{{2 * time.Second, 1}, {50 * time.Second, 1}, {20 * time.Second, 1}, {2 * time.Second, 2}} {
			if got := after(step.wait); got != step.want {
				t.Errorf("after %s: %v, want %v", step.wait, got, step.want)
			}
		}
		fails = true
		if after(2 * time.Minute); !math.IsNaN(after(2 * time.Second)) {
			t.Error("a failed measurement returns an old value")
		}
		if loads != 3 {
			t.Errorf("%d measurements, want 3", loads)
		}
	})
}
