package clocks

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// FieldSent is the name of the field with the time that the device sent, in a corrected reading.
const FieldSent = "time_sent"

// Tolerance is the largest difference between the corrected time and the arrival of a corrected
// reading.
const Tolerance = 2 * time.Minute

// Source returns stored readings.
type Source interface {
	// Read yields the readings of a series in a window, including expired ones, until yield
	// returns false.
	Read(ctx context.Context, s varve.Series, w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error
}

// Corrector corrects readings of some streams. It is safe for concurrent use. A nil Corrector
// corrects none.
type Corrector struct {
	registry *Registry
	streams  map[string]bool
	source   Source
	count    atomic.Int64
}

// NewCorrector returns a corrector of the named streams.
func NewCorrector(g *Registry, streams map[string]bool, source Source) *Corrector {
	return &Corrector{registry: g, streams: streams, source: source}
}

// Corrects reports whether a stream is corrected.
func (c *Corrector) Corrects(stream string) bool { return c != nil && c.streams[stream] }

// Count returns the number of corrected readings since the start.
func (c *Corrector) Count() int64 {
	if c == nil {
		return 0
	}
	return c.count.Load()
}

// Repeat returns the verdict on a resent reading that was corrected when it first arrived. It is for
// readings whose time is acceptable now.
//
// If only another version of the reading was corrected, Repeat returns a copy of r with the same corrected
// time. The caller must store this copy. If no version was corrected, the returned reading is nil and the
// verdict is zero.
func (c *Corrector) Repeat(ctx context.Context, r *varve.Reading) (*varve.Reading, varve.Verdict, error) {
	all, err := c.registry.Offsets(ctx, r.Tenant, r.Stream)
	if err != nil {
		return nil, varve.Verdict{}, err
	}
	return c.repeat(ctx, r, all[r.Device], -1)
}

// Correct corrects a reading that was rejected because its time is in the future.
//
//   - If the reading can be corrected, Correct returns the corrected reading and the zero verdict.
//   - If the reading was corrected before, Correct returns the verdict on the repeated reading. If only
//     another version was corrected, Correct returns this version with the same corrected time.
//   - Otherwise Correct returns the given verdict.
//
// The caller sets the argument "newest" for the latest rejected reading of a series in a batch. If
// no offset matches such a reading, it is a sample, from which an offset may be learned immediately.
func (c *Corrector) Correct(ctx context.Context, r *varve.Reading, arrived time.Time, rejected varve.Verdict, newest bool) (varve.Reading, varve.Verdict, error) {
	for {
		all, err := c.registry.Offsets(ctx, r.Tenant, r.Stream)
		if err != nil {
			return *r, rejected, err
		}
		offsets := all[r.Device]
		match := -1
		for i, o := range offsets {
			if at := r.Time.Add(-o.Ahead); !r.Time.Before(o.From) && at.Sub(arrived).Abs() <= Tolerance {
				match = i
				break
			}
		}
		version, v, err := c.repeat(ctx, r, offsets, match)
		if err != nil || v.Outcome != 0 {
			return *r, v, err
		}
		if version != nil {
			return *version, varve.Verdict{}, nil
		}
		if match >= 0 {
			corrected, ok := shifted(r, offsets[match].Ahead)
			if !ok {
				return *r, rejected, nil
			}
			c.count.Add(1)
			return corrected, varve.Verdict{}, nil
		}
		if !newest {
			return *r, rejected, nil
		}
		newest = false
		if learned, err := c.registry.Observe(ctx, r.Series, r.Time, arrived); !learned || err != nil {
			return *r, rejected, err
		}
	}
}

// repeat returns the verdict on a reading that is already stored with a corrected time. If only
// another version is stored, it returns the reading with the same corrected time. It tries all offsets
// but the one at the index "except"; -1 excludes none.
func (c *Corrector) repeat(ctx context.Context, r *varve.Reading, offsets []Offset, except int) (version *varve.Reading, v varve.Verdict, err error) {
	for i, o := range offsets {
		if i == except || r.Time.Before(o.From) {
			continue
		}
		corrected, ok := shifted(r, o.Ahead)
		if !ok || corrected.Normalize().Outcome == varve.Rejected {
			continue
		}
		w := varve.Window{From: corrected.Time, To: corrected.Time.Add(1)}
		err := c.source.Read(ctx, r.Series, w, varve.Ascending, func(stored *varve.Reading) bool {
			switch {
			case stored.ID == corrected.ID:
				v = store.Repeat(&corrected, stored)
			case stored.ID.IsVersionOf(corrected.ID):
				version = &corrected
			}
			return v.Outcome == 0 && version == nil
		})
		if version != nil {
			c.count.Add(1)
		}
		if err != nil || v.Outcome != 0 || version != nil {
			return version, v, err
		}
	}
	return nil, v, nil
}

// shifted returns a copy of a reading with the corrected time, and the sent time as a field. It
// returns false if the reading has such a field already.
func shifted(r *varve.Reading, ahead time.Duration) (varve.Reading, bool) {
	fields := make([]varve.Field, 0, len(r.Fields)+1)
	for _, f := range r.Fields {
		if f.Name == FieldSent {
			return *r, false
		}
		fields = append(fields, f)
	}
	c := *r
	c.Fields = append(fields, varve.Field{Name: FieldSent, Value: varve.StringValue(r.Time.UTC().Format(time.RFC3339Nano))})
	c.Time = r.Time.Add(-ahead)
	return c, true
}
