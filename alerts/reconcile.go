package alerts

import (
	"context"
	"errors"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// reconciler updates the recorded episodes of a subject, and their alerts, to match the
// wanted episodes.
type reconciler struct {
	subject
	stores
	// contested has the starts of episodes that another process has changed since they were read.
	contested map[varve.Position]bool
}

// reconcile writes the difference between wanted and recorded episodes, and reports whether a
// difference existed.
func (c *reconciler) reconcile(ctx context.Context, found *findings, known *history) (changed bool, err error) {
	slices.SortFunc(found.wanted, func(a, b episode) int { return a.start.Compare(b.start) })
	p := planOf(found, known, c.contested)
	if p.isEmpty() {
		return false, c.deleteOrphans(ctx, found.wanted)
	}
	if c.atomic != nil {
		w := atomicWriter{subject: &c.subject, stores: &c.stores, recorded: &known.recorded, contested: c.contested}
		err = w.apply(ctx, p)
	} else {
		w := stepWriter{subject: &c.subject, stores: &c.stores, recorded: &known.recorded}
		err = w.apply(ctx, p)
	}
	if errors.Is(err, store.ErrCondition) {
		// Another process has changed an episode since it was read, and this try may have overwritten its
		// alert. So remember all episodes of the plan: the next try writes their alerts even if the records
		// match.
		if c.contested == nil {
			c.contested = map[varve.Position]bool{}
		}
		for _, e := range append(p.write, p.remove...) {
			c.contested[e.start] = true
		}
		return true, nil
	}
	for _, e := range append(p.write, p.remove...) {
		delete(c.contested, e.start)
	}
	return true, err
}

// deleteOrphans withdraws the alerts of contested episodes that are neither recorded nor wanted. An
// earlier try of this reconciler may have written such an alert.
func (c *reconciler) deleteOrphans(ctx context.Context, wanted []episode) error {
	for start := range c.contested {
		recorded, err := c.records.exists(ctx, &c.subject, start)
		if err != nil {
			return err
		}
		if recorded || startsAt(wanted, start) {
			continue
		}
		if err := c.alerts.withdraw(ctx, &c.subject, &episode{start: start, opened: start}); err != nil {
			return err
		}
	}
	return nil
}
