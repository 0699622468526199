package rollup

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Rebuild marks the hours of a series of which readings count that are not in
// their roll-up, because they were written while nothing was marked, and returns
// how many it marked, of each day of arrival. Reads count them from then on.
//
// An hour is left as it is, and told of, if it cannot be known what is in its
// roll-up: readings are gone that it was counted from, or others count by now,
// because a retention has changed. What came on another day may be copies of
// those.
func (w *Worker) Rebuild(ctx context.Context, s varve.Series, window varve.Window) (marked, left int, err error) {
	if err := window.Validate(); err != nil {
		return 0, 0, varve.InvalidParam("to", "%s", err)
	}
	asked := Query{Period: Hourly, Window: window}
	b := rebuilding{w: w, series: s, day: -1}
	err = w.raw.Each(ctx, s, asked.span().window(), func(r *varve.Reading, first bool) {
		if day := dayOf(r.Time.Unix()); day != b.day {
			b.finish(ctx)
			b.begin(ctx, day)
		}
		if b.err == nil {
			b.now.add(r, first)
		}
	})
	if b.finish(ctx); err == nil {
		err = b.err
	}
	if err != nil {
		return b.marked, b.left, fmt.Errorf("rebuild %s: %w", s, err)
	}
	return b.marked, b.left, nil
}

// rebuilding goes through a series day by day.
type rebuilding struct {
	w            *Worker
	series       varve.Series
	day          int64
	dirty        map[slot]bool // of the day, as are these
	partials     rest
	now          *recount
	marked, left int
	err          error // that ended it
}

func (b *rebuilding) span() span { return span{b.day * dayHours, (b.day + 1) * dayHours} }

// begin reads the marks and the partials of a day, in this order: partials are at
// rest where there was no mark.
func (b *rebuilding) begin(ctx context.Context, day int64) {
	if b.err != nil {
		return
	}
	b.day = day
	marks, err := b.w.marks(ctx, b.series, b.span())
	if err == nil {
		b.partials, err = b.w.hours(ctx, b.series, b.span(), noField)
	}
	b.dirty, b.err = slotsOf(marks, b.span()), err
	b.now = newRecount(b.w.resent, tally{only: noField, found: &found{}}, nil, b.dirty, b.partials)
}

// finish marks what is behind of the day.
func (b *rebuilding) finish(ctx context.Context) {
	if b.err != nil || b.now == nil {
		return
	}
	if b.err = b.now.finish(); b.err != nil {
		return
	}
	marks, err := b.w.marks(ctx, b.series, b.span())
	if err != nil {
		b.err = err
		return
	}
	maps.Copy(b.dirty, slotsOf(marks, b.span())) // and what was written meanwhile
	behind, left := compare(b.now.counts, b.partials, b.dirty)
	round := int64(step / time.Second)
	until := b.w.now().Unix()/round*round + 2*round
	var items []store.Item
	for _, at := range behind {
		items = append(items, mark{from: at.hour, hours: 1, arrival: at.arrival, until: until}.item(b.series))
	}
	if b.err = b.w.items.PutAll(ctx, items); b.err == nil {
		b.marked, b.left = b.marked+len(items), b.left+len(left)
	}
}

// noField is for who asks which hours there are, and for no field of them.
var noField = wanted{}
