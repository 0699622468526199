package notify

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// removeEntries removes the entries of works from the outbox, and the works from memory.
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

// dueRefresh returns the function that refreshes the receiver of an outlet, or false if no refresh
// is due.
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

// silenced returns the number of silent deliveries.
func (r *record) silenced() (n int) {
	for _, d := range r.Done {
		if d.State == Silent {
			n++
		}
	}
	return n
}

// queueState is the state of the messages for one notifier that are not delivered yet.
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
