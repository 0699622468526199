package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// removeEntries removes the outbox entries of alerts that need no further message. It also removes
// the state of these alerts from memory.
func (s *Sender) removeEntries(ctx context.Context, over []*work) error {
	if len(over) == 0 {
		return nil
	}
	if err := s.held.Check(ctx); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, w := range over {
		g.Go(func() error { return s.opts.Outbox.Remove(gctx, &w.entry) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, w := range over {
		delete(s.works, w.entry.AlertName)
	}
	return nil
}

// dueRefresh returns a function that resends the messages that are due. It returns false if the
// notifier resends nothing, or nothing is due.
func (s *Sender) dueRefresh(o *outlet) (func(context.Context) error, bool) {
	n, ok := o.Notifier.(Refresher)
	now := s.opts.Now()
	if !ok || now.Sub(o.refreshed) < n.RefreshEvery() {
		return nil, false
	}
	var list []*Message
	for _, w := range s.works {
		if w.rec != nil && o.refreshes(w.rec, now) {
			list = append(list, w.rec.Shown)
		}
	}
	if o.refreshed = now; len(list) == 0 {
		return nil, false
	}
	return func(ctx context.Context) error { return refreshAll(ctx, n, list) }, true
}

// refreshAll resends messages in parts. A part that fails does not stop the others, except after
// mostFaults consecutive failures.
func refreshAll(ctx context.Context, n Refresher, list []*Message) error {
	var errs []error
	faults := 0
	for part := range slices.Chunk(list, mostRefreshed) {
		if err := refreshPart(ctx, n, part); err == nil {
			faults = 0
		} else if errs, faults = append(errs, err), faults+1; faults == mostFaults || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func refreshPart(ctx context.Context, n Refresher, part []*Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return n.Refresh(ctx, part)
}

func (r *record) silenced() (n int) {
	for _, d := range r.Deliveries {
		if d.State == Silent {
			n++
		}
	}
	return n
}

// queueState counts the pending messages for one notifier. The field "oldest" is the time at which
// the first of them was queued.
type queueState struct {
	pending int
	oldest  time.Time
}

func (q *queueState) add(d *delivery) {
	q.pending++
	if q.oldest.IsZero() || d.Queued.Before(q.oldest) {
		q.oldest = d.Queued
	}
}
