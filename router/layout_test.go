package router_test

import (
	"context"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
	"testing"
	"time"
)

type laid struct {
	store.Writer
	layouts map[string]store.Layout // layouts by stream
}

func (l *laid) Write(ctx context.Context, batches []store.Batch) []store.Result {
	for _, b := range batches {
		for i := range b.Readings {
			s := b.Readings[i].Series
			l.layouts[s.Stream] = b.LayoutOf(s)
		}
	}
	return l.Writer.Write(ctx, batches)
}

// TestRouter_WritesConfiguredLayouts checks the layouts with which series are written:
//
//   - The row window equals the configured one, and the shards equal the shards of the device.
//   - The store may delete readings only after their expiry and a grace. With roll-ups, the
//     grace is at least a week.
//   - If the store may not delete readings, or their retention is unlimited, the layout forbids
//     it.
func TestRouter_WritesConfiguredLayouts(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	for _, c := range []struct {
		what           string
		change         func(*router.Options)
		weather, brief time.Duration
	}{
		{"not allowed", func(*router.Options) {}, 0, 0},
		{"allowed", func(o *router.Options) { o.Expire, o.Grace = true, 2*day }, year + 2*day, time.Hour + 2*day},
		{"for ever", func(o *router.Options) {
			o.Expire, o.Grace, o.Policy.Classes[0].Retention = true, 2*day, retention.Forever
		}, 0, time.Hour + 2*day},
		{"roll-ups", func(o *router.Options) {
			o.Expire, o.Grace, o.Tracker = true, 2*day, &marker{by: noon.Add(year)}
		}, year + 7*day, time.Hour + 7*day},
		{"roll-ups and a long grace", func(o *router.Options) {
			o.Expire, o.Grace, o.Tracker = true, 9*day, &marker{by: noon.Add(year)}
		}, year + 9*day, time.Hour + 9*day},
	} {
		l := &laid{layouts: map[string]store.Layout{}}
		var known *streams.Registry
		w := newWorld(c.change, func(o *router.Options) {
			l.Writer, o.Writer = o.Writer, l
			o.Layouts = map[string]store.Layout{"weather": {RowWindow: time.Hour, Expect: store.ExpectNew}}
			known = o.Streams
		})
		w.send(t, reading("weather", noon, 1))
		if _, err := known.Spread(t.Context(), "acme", "weather", "d1", 4); err != nil {
			t.Fatal(err)
		}
		w.send(t, reading("weather", noon, 2), reading("brief", noon, 3))
		for stream, want := range map[string]store.Layout{
			"weather": {RowWindow: time.Hour, Expect: store.ExpectNew, Shards: 4, DeleteAfter: c.weather}, "brief": {DeleteAfter: c.brief},
		} {
			if got := l.layouts[stream]; got != want {
				t.Errorf("%s: %s lies as %+v, want %+v", c.what, stream, got, want)
			}
		}
	}
}
