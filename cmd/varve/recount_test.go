package main

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestGoneOf_NamesReadingsOfTheSeries checks that lost readings count as gone only for the series
// in the lost range, and only at the known times.
func TestGoneOf_NamesReadingsOfTheSeries(t *testing.T) {
	series := func(device string) varve.Series {
		return varve.Series{Tenant: "default", Stream: "s", Device: device}
	}
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	within := local.Loss{Table: "t", Number: 3, First: series("b"), Last: series("c"), From: from, To: from.Add(time.Hour)}
	unknown := local.Loss{Number: 3, First: series("b")}
	items := local.Loss{Items: true, FirstItem: store.Key{PK: "ROLLUP#default/s/b"}}
	journal := local.Loss{Segment: 3, Bytes: 5}
	for _, c := range []struct {
		device string
		losses []local.Loss
		want   []varve.Window
	}{
		{"b", []local.Loss{within, items, journal}, []varve.Window{{From: from, To: from.Add(time.Hour)}}},
		{"a", []local.Loss{within, unknown}, nil},
		{"d", []local.Loss{within}, nil},
		{"d", []local.Loss{unknown}, []varve.Window{varve.AllTime()}},
	} {
		got := goneOf(&config.Config{}, series(c.device), c.losses)
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s, %+v: %v, want %v", c.device, c.losses, got, c.want)
		}
	}
}

// TestMayContainKeys_IgnoresRangesOfRollups checks that API keys may be among lost items unless both
// ends of the range are roll-ups.
func TestMayContainKeys_IgnoresRangesOfRollups(t *testing.T) {
	rollup, device := store.Key{PK: "ROLLUP#a/b/c"}, store.Key{PK: "DEVICE#a"}
	for _, c := range []struct {
		loss local.Loss
		want bool
	}{
		{local.Loss{Items: true, FirstItem: rollup, LastItem: rollup}, false},
		{local.Loss{Items: true, FirstItem: device, LastItem: rollup}, true},
		{local.Loss{Items: true}, true},
		{local.Loss{Items: true, Index: true}, false},
		{local.Loss{Table: "t"}, false},
		{local.Loss{Journal: true}, true},
	} {
		if got := mayContainKeys(c.loss); got != c.want {
			t.Errorf("%+v: %v", c.loss, got)
		}
	}
}
