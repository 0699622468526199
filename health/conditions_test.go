package health_test

import (
	"fmt"
	"github.com/varvedb/varve/health"
	"slices"
	"testing"
	"time"
)

func TestConditions_HoldFromSetToClear(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var changes []string
	c := health.New(health.Options{Now: func() time.Time { return now }, Changed: func(c health.Condition, holds bool) {
		changes = append(changes, fmt.Sprint(c.Name, " ", c.Message, " ", holds))
	}})
	c.Clear(health.DiskLow)
	c.Set(health.StoreUnreachable, "refused")
	c.Set(health.DiskLow, "3 MiB free")
	began := now
	now = now.Add(time.Minute)
	c.Set(health.DiskLow, "2 MiB free")
	want := []health.Condition{
		{Name: health.DiskLow, Since: began, Message: "2 MiB free"},
		{Name: health.StoreUnreachable, Since: began, Message: "refused"},
	}
	if got := c.List(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.Clear(health.DiskLow)
	c.Clear(health.DiskLow)
	if got := c.List(); !slices.Equal(got, want[1:]) {
		t.Errorf("cleared: %+v", got)
	}
	if want := []string{"store_unreachable refused true", "disk_low 3 MiB free true", "disk_low 2 MiB free false"}; !slices.Equal(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
}

func TestConditions_NilHoldsNothing(t *testing.T) {
	var c *health.Conditions
	c.Set(health.DiskLow, "3 MiB free")
	if c.Clear(health.DiskLow); c.List() != nil {
		t.Error("nil holds something")
	}
}

func TestNames_AreDescribed(t *testing.T) {
	for _, n := range health.Names() {
		if n.About() == string(n) || n.About() == "" {
			t.Errorf("%s is not described", n)
		}
	}
	if health.RotationFailing.Blocks() || !health.DiskLow.Blocks() || !health.StoreUnreachable.Blocks() {
		t.Error("wrong conditions keep readings out")
	}
	if unknown := health.Name("unknown"); unknown.Blocks() || unknown.About() != "unknown" {
		t.Error("an unknown condition is taken for another")
	}
}
