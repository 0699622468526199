package notify

import (
	"context"
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

// dueRefresh returns a function that calls Refresher.Refresh with the messages to resend. It returns
// false if the notifier resends nothing, or nothing is due.
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
	return func(ctx context.Context) error { return n.Refresh(ctx, list) }, true
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
