package tablescan

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// ArrivalDay is the number of readings of a table that arrived on a UTC day.
type ArrivalDay struct {
	Day      time.Time // beginning of the day, in UTC
	Readings int64
}

// CountArrivals returns the days on which readings of a table arrived, in ascending order, and the cost.
// It reads the whole table. The counts add up to the number of stored readings of the table. It fails
// with store.ErrNoTable if the table is missing.
func (sc *Scanner) CountArrivals(ctx context.Context, t grid.Table) ([]ArrivalDay, store.Cost, error) {
	counts := map[int64]int64{}
	const day = int64(24 * time.Hour / time.Millisecond)
	add := func(arrived int64) { counts[floorDiv(arrived, day)]++ }
	cost, err := sc.Scan(ctx, t, Sink{
		Part: func(p *block.Part) error {
			for k := range p.Len() {
				add(p.Arrived[p.Row(k)])
			}
			return nil
		},
		Reading: func(r *varve.Reading) error {
			add(r.Arrived.UnixMilli())
			return nil
		},
	})
	if err != nil {
		return nil, cost, err
	}
	days := make([]ArrivalDay, 0, len(counts))
	for at, n := range counts {
		days = append(days, ArrivalDay{Day: time.UnixMilli(at * day).UTC(), Readings: n})
	}
	slices.SortFunc(days, func(a, b ArrivalDay) int { return a.Day.Compare(b.Day) })
	return days, cost, nil
}

// floorDiv returns a/b, rounded down. Times before 1970 have a negative a.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
