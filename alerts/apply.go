package alerts

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// stepWriter applies plans to a registry that writes items one by one.
//
// The record of an episode is written before its alert. After the alert is written, the record is
// marked as published. The alert of a removed episode is withdrawn before the record is deleted. So
// every alert has a record, until it is withdrawn. If the steps are interrupted, an unpublished
// record remains, and the next evaluation completes them.
//
// An episode inherits the remarks of the episodes that it replaces. Its record includes these
// remarks from the first write on, because another evaluation may complete the steps. By then, the
// replaced episodes may be deleted.
type stepWriter struct {
	*subject
	*stores
	recorded *timeline
}

// apply executes a plan. New episodes that overlap no recorded episode are written concurrently.
func (w *stepWriter) apply(ctx context.Context, p plan) error {
	var separate, rest []episode
	for _, e := range p.write {
		if !e.isRecorded() && len(w.recorded.overlapping(&e)) == 0 {
			separate = append(separate, e)
		} else {
			rest = append(rest, e)
		}
	}
	for i := range rest {
		if err := w.inherit(ctx, &rest[i]); err != nil {
			return err
		}
		if err := w.records.put(ctx, w.subject, &rest[i], false); err != nil {
			return err
		}
	}
	for i := range rest {
		if err := w.upsertAlert(ctx, &rest[i]); err != nil {
			return err
		}
	}
	for i := range p.remove {
		if err := w.remove(ctx, &p.remove[i]); err != nil {
			return err
		}
	}
	for i := range rest {
		if err := w.records.put(ctx, w.subject, &rest[i], true); err != nil {
			return err
		}
	}
	return w.publishAll(ctx, separate)
}

// publishers is the number of episodes that are published concurrently.
const publishers = 16

// publishAll records and publishes new episodes that overlap no recorded episode.
func (w *stepWriter) publishAll(ctx context.Context, episodes []episode) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(publishers)
	for i := range episodes {
		e := &episodes[i]
		g.Go(func() error {
			if err := w.records.put(ctx, w.subject, e, false); err != nil {
				return err
			}
			if err := w.upsertAlert(ctx, e); err != nil {
				return err
			}
			return w.records.put(ctx, w.subject, e, true)
		})
	}
	return g.Wait()
}

// inherit adds remarks to an episode. They come from the recorded episodes that overlap it, and
// from their alerts.
func (w *stepWriter) inherit(ctx context.Context, e *episode) error {
	for _, k := range w.recorded.overlapping(e) {
		old, _, err := w.alerts.get(ctx, w.series.Tenant, w.series.Device, w.alertID(k.start))
		if err != nil {
			return err
		}
		e.inherit(k, old)
	}
	return nil
}

func (w *stepWriter) upsertAlert(ctx context.Context, e *episode) error {
	a := w.alert(e)
	if err := w.alerts.upsert(ctx, a); err != nil {
		return fmt.Errorf("write alert %s: %w", a.ID, err)
	}
	return nil
}

// remove withdraws the alert of an episode, and deletes its record. Before both, it marks the
// record as unpublished.
func (w *stepWriter) remove(ctx context.Context, e *episode) error {
	if e.published {
		if err := w.records.put(ctx, w.subject, e, false); err != nil {
			return err
		}
	}
	if err := w.alerts.withdraw(ctx, w.subject, e); err != nil {
		return err
	}
	return w.records.remove(ctx, w.subject, e)
}
