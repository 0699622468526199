package aggregate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
)

// CountQuery selects the readings to count, by device and window of one stream.
type CountQuery struct {
	Tenant, Stream string
	Devices        []string
	Window         varve.Window
	Where          filter.Filter // if set, only matching readings are counted; must be empty for FromRollups
	Source         Source
	Consistent     bool      // if true, includes every acknowledged reading
	SkipDamaged    bool      // if true, omits damaged rows and lists them in the coverage
	AsOf           time.Time // if set, excludes readings that arrived later; see query.Query
}

// Counts is the result of a count: the number of distinct readings of each device in the window.
type Counts struct {
	Devices  []DeviceCount // devices with at least one reading, sorted by name
	Readings int64
	Coverage query.Coverage // coverage of all devices; empty if the source is roll-ups
	// Profile has the fields and kinds of values that were compared with Where.
	Profile filter.Profile
}

// DeviceCount is the number of readings of one device.
type DeviceCount struct {
	Device   string
	Readings int64
}

// Count counts the selected readings of each device. The numbers are exact, except for damaged rows
// that SkipDamaged omits, and tables that Coverage lists as missing.
//
// If Source is FromReadings, Count counts only readings that are not expired. If Source is
// FromRollups, it also counts expired readings. Then each end of the window must be at a whole hour or
// open, and Count reads one roll-up per hour or day.
func (e *Engine) Count(ctx context.Context, q CountQuery) (*Counts, error) {
	c := counter{
		run: run{Engine: e, q: &Query{Tenant: q.Tenant, Stream: q.Stream, Window: q.Window, Where: q.Where, Consistent: q.Consistent, SkipDamaged: q.SkipDamaged, AsOf: q.AsOf}},
	}
	if err := c.validate(&q); err != nil {
		return nil, err
	}
	count := c.countReadings
	if q.Source == FromRollups {
		count = c.countRollups
	}
	counts := &Counts{}
	for _, device := range slices.Compact(slices.Sorted(slices.Values(q.Devices))) {
		n, err := count(ctx, varve.Series{Tenant: q.Tenant, Stream: q.Stream, Device: device})
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", device, err)
		}
		if n > 0 {
			counts.Devices = append(counts.Devices, DeviceCount{device, n})
			counts.Readings += n
		}
	}
	counts.Coverage, counts.Profile = c.coverage, c.profile
	return counts, nil
}

type counter struct{ run }

func (c *counter) validate(q *CountQuery) error {
	if n := len(q.Devices); n > MaxDevices {
		return varve.InvalidParam("devices", "%d exceed the limit %d: select fewer devices", n, MaxDevices)
	}
	if err := q.Window.Validate(); err != nil {
		return varve.InvalidParam("to", "%s", err)
	}
	if q.Source != FromRollups {
		return nil
	}
	if c.opts.Rollups == nil {
		return errNoRollups()
	}
	return c.q.validateRollups()
}

// countReadings returns the number of readings of a series that are not expired.
func (c *counter) countReadings(ctx context.Context, of varve.Series) (n int64, err error) {
	rows, err := c.opts.Readings.Open(ctx, query.Query{
		Series: of, Window: c.q.Window, Where: c.q.Where, Consistent: c.q.Consistent, SkipDamaged: c.q.SkipDamaged, AsOf: c.q.AsOf,
	})
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for more := true; more; {
		err := c.opts.InTurn(ctx, func(ctx context.Context) error {
			part, err := rows.NextPart(ctx)
			n += int64(part.Len())
			more = !part.IsEnd()
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	c.cover(rows.Coverage())
	c.profile.Merge(*rows.Profile())
	return n, nil
}

// noFields selects no field of a roll-up: a field of this name cannot exist.
var noFields = []string{"_"}

// countRollups returns the number of readings in the roll-ups of a series.
func (c *counter) countRollups(ctx context.Context, of varve.Series) (n int64, err error) {
	q := rollup.Query{Series: of, Period: rollup.Hourly, Window: c.q.Window, Fields: noFields, Limit: rollup.MaxLimit, AsOf: c.q.AsOf}
	if wholeDays(c.q.Window) {
		q.Period = rollup.Daily
	}
	for {
		var page rollup.Page
		err := c.opts.InTurn(ctx, func(ctx context.Context) (err error) {
			page, err = c.opts.Rollups.Read(ctx, q)
			return err
		})
		if err != nil {
			return 0, err
		}
		for i := range page.Rollups {
			n += page.Rollups[i].Readings
		}
		if page.Next.IsZero() {
			return n, nil
		}
		q.Window.From = page.Next
	}
}
