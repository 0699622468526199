package aggregate

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

const hourSeconds = int64(time.Hour / time.Second)

// onHour reports whether a time is at a full hour in UTC.
func onHour(t time.Time) bool { return t.Unix()%hourSeconds == 0 && t.Nanosecond() == 0 }

// addRollups adds the roll-ups of a series. The reader of roll-ups recounts dirty hours, so its
// roll-ups include every acknowledged reading.
func (r *run) addRollups(ctx context.Context, of varve.Series, s *series) error {
	if r.opts.Rollups == nil {
		return errNoRollups()
	}
	q := rollup.Query{Series: of, Period: r.period(), Window: r.q.Window, Fields: r.q.Fields, AsOf: r.q.AsOf}
	for {
		var page rollup.Page
		err := r.opts.InTurn(ctx, func(ctx context.Context) (err error) {
			page, err = r.opts.Rollups.Read(ctx, q)
			return err
		})
		if err != nil {
			return err
		}
		for i := range page.Rollups {
			if err := r.checkHours(page.Rollups[i].Start); err != nil {
				return err
			}
			if err := s.addRollup(&page.Rollups[i]); err != nil {
				return err
			}
		}
		if page.Next.IsZero() {
			return nil
		}
		q.Window.From = page.Next
	}
}

// period returns the longest period of roll-ups that fits the window and every bucket.
func (r *run) period() rollup.Period {
	if r.q.Step.zone == time.UTC && r.q.Step.seconds == 0 && wholeDays(r.q.Window) {
		return rollup.Daily
	}
	return rollup.Hourly
}

// wholeDays reports whether each end of a window is at midnight in UTC, or is open.
func wholeDays(w varve.Window) bool {
	all := varve.AllTime()
	for _, t := range []time.Time{w.From, w.To} {
		if t.Unix()%daySeconds != 0 && t.Before(all.To) && t.After(all.From) {
			return false
		}
	}
	return true
}

func errNoRollups() error {
	return varve.Errorf(varve.Conflict, "roll-ups are switched off: use source=readings, or set rollups.enabled to true")
}

// checkHours fails if the bucket at start does not begin and end at full hours.
func (r *run) checkHours(start time.Time) error {
	if b := r.q.Step.BucketAt(start.Unix()); b.Start%hourSeconds != 0 || b.End%hourSeconds != 0 {
		return varve.InvalidParam("step", "source=rollups requires buckets of whole hours: use a multiple of 1h, or source=readings")
	}
	return nil
}
