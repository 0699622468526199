package changes

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
)

const (
	// pageReadings is the number of readings at which a page is complete.
	pageReadings = 1024
	// pageBytes is the size in bytes at which a page is complete. A page with one reading may be larger.
	pageBytes = 1 << 20
)

// Rows yields the changes of a query page by page. Only one goroutine may use it.
//
// It reads the markers of several minutes together, and then the series that they name, in the order of
// devices. So a series is read once for all of these minutes.
type Rows struct {
	r    *Reader
	q    Query
	at   Cursor
	end  int64 // the settled time, in milliseconds since 1970
	left int   // number of readings that may still be returned; -1 means no limit

	batch *batch // nil if the next markers must be read
	out   []varve.Reading
	size  int // size of out, in bytes
	err   error
}

// Next returns the next readings, or none at the end. They are valid until the next call. A page may
// have few readings. After an error, each call fails.
func (r *Rows) Next(ctx context.Context) ([]varve.Reading, error) {
	if r.err != nil {
		return nil, r.err
	}
	clear(r.out)
	r.out, r.size = r.out[:0], 0
	for len(r.out) < pageReadings && r.size < pageBytes && r.left != 0 && r.More() && !r.isAhead() {
		if err := r.advance(ctx); err != nil {
			r.err = err
			return nil, err
		}
	}
	return r.out, nil
}

// Cursor returns the cursor after the readings that Next returned.
func (r *Rows) Cursor() Cursor { return r.at }

// More reports whether further settled readings may exist. It returns true if the cursor is within a range,
// even if Next cannot return the readings of the range yet: see isAhead.
func (r *Rows) More() bool {
	return !r.at.Until.IsZero() || r.at.Since.UnixMilli() < r.end
}

// isAhead reports whether the cursor is within a range that is not settled here. The cursor comes from another
// process then, whose settled time was later.
func (r *Rows) isAhead() bool { return r.at.Until.UnixMilli() > r.end }

// Settled returns the time up to which the rows include all changes, once More reports false.
func (r *Rows) Settled() time.Time {
	if end := time.UnixMilli(r.end).UTC(); r.at.Since.Before(end) {
		return end
	}
	return r.at.Since // all readings before it were returned, also if another process returned the cursor
}

// advance reads the next markers, or the readings of the next device.
func (r *Rows) advance(ctx context.Context) (err error) {
	if r.batch == nil {
		if r.batch, err = r.readBatch(ctx); err != nil {
			return err
		}
		r.at.Since, r.at.Until = time.UnixMilli(r.batch.from).UTC(), time.UnixMilli(r.batch.to).UTC()
	}
	b := r.batch
	if len(b.devices) == 0 {
		r.batch = nil
		if !b.more {
			r.at = Cursor{Epoch: r.at.Epoch, Since: r.at.Until}
		}
		return nil
	}
	d := &b.devices[0]
	done, err := r.scanDevice(ctx, d)
	if err == nil && done {
		b.devices = b.devices[1:]
		r.at.Device, r.at.Part, r.at.After = d.name, false, varve.Position{}
	}
	return err
}

// scanDevice appends the readings of a device to the page. It returns whether all were appended.
func (r *Rows) scanDevice(ctx context.Context, d *changed) (done bool, err error) {
	if r.r.o.Alone && r.r.o.Tracker.isUnchanged(r.q.Stream, d.name, r.batch.from) {
		return true, nil
	}
	aq := query.ArrivalQuery{
		Series: varve.Series{Tenant: r.q.Stream.Tenant, Stream: r.q.Stream.Name, Device: d.name},
		From:   r.at.Since, To: r.at.Until,
	}
	for _, h := range d.hours {
		aq.Window, aq.After = h.window(), nil
		if r.at.Part && r.at.Device == d.name {
			if aq.After = &r.at.After; r.at.After.Time >= aq.Window.To.UnixNano() {
				continue
			}
		}
		full, before := false, len(r.out)
		err := r.r.o.Source.ScanArrivals(ctx, aq, func(c *varve.Reading) bool {
			if full = r.left == 0 || len(r.out) >= 2*pageReadings || r.size >= pageBytes; full {
				return false
			}
			if full = r.q.Fits != nil && !r.q.Fits(c); full {
				r.left = 0
				return false
			}
			r.out, r.size = append(r.out, c.Clone()), r.size+sizeOf(c)
			if r.left > 0 {
				r.left--
			}
			return true
		})
		if n := len(r.out); n > before {
			r.at.Device, r.at.Part, r.at.After = d.name, true, r.out[n-1].Position()
		}
		if err != nil || full {
			return false, err
		}
	}
	return true, nil
}

func sizeOf(r *varve.Reading) int {
	size := 100 + 32*len(r.Fields)
	for i := range r.Fields {
		size += len(r.Fields[i].Value.Text())
	}
	return size
}
