package alerts

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Outbox lists changed alerts for a reader that delivers them. It is safe for concurrent use.
type Outbox struct {
	*outbox
	alerts *alertStore
	rules  *ruleStore
}

// Published is an alert as it is stored now.
type Published struct {
	Alert
	Version int64
	// Moved reports whether another alert replaced this one, or late readings withdrew it.
	Moved bool
}

// Alerts returns the named alerts that exist.
func (o *Outbox) Alerts(ctx context.Context, names []AlertName) (map[AlertName]Published, error) {
	keys, byKey := make([]store.Key, len(names)), make(map[store.Key]AlertName, len(names))
	for i, n := range names {
		keys[i] = alertKey(n.Tenant, n.Device, n.Alert)
		byKey[keys[i]] = n
	}
	items, err := o.items.Get(ctx, keys, true)
	if err != nil {
		return nil, fmt.Errorf("read alerts of the outbox: %w", err)
	}
	all := make(map[AlertName]Published, len(items))
	for i := range items {
		name := byKey[items[i].Key]
		a, err := alertOf(name.Tenant, &items[i])
		if err != nil {
			return nil, err
		}
		all[name] = Published{Alert: a, Version: registry.Int(items[i].Attrs["version"]), Moved: !a.moved.IsZero()}
	}
	return all, nil
}

// Rule returns a rule as it was at most ten seconds ago, or nil if it is missing.
func (o *Outbox) Rule(ctx context.Context, tenant, id string) (*Rule, error) {
	set, err := o.rules.inForce(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return set.byID[id], nil
}

// Successor returns the alert to which the id of a moved alert leads. If the alert has no
// successor, Successor returns the alert itself, with Withdrawn as the reason for its resolution.
func (o *Outbox) Successor(ctx context.Context, a *Alert) (Alert, error) {
	next, _, err := o.alerts.successor(ctx, a)
	return next, err
}

// AnnounceOpen writes an outbox entry for each open alert of a tenant, page by page. It calls the
// function "check" before each page, and stops if that call fails.
func (o *Outbox) AnnounceOpen(ctx context.Context, tenant string, check func(context.Context) error) error {
	isOpen := func(it *store.Item) bool { return it.Attrs["resolvedBy"].Text() == "" }
	s := registry.Span{
		Index: store.GSI1, Prefix: alertPrefix, Order: varve.Descending, Limit: registry.MaxLimit,
		PKs: registry.AllShards(severityKind, tenant, Severities()...), Match: isOpen,
	}
	for {
		if err := check(ctx); err != nil {
			return err
		}
		items, more, err := registry.Merge(ctx, o.items, s)
		if err != nil {
			return err
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(announcers)
		for i := range items {
			g.Go(func() error {
				a, err := alertOf(tenant, &items[i])
				if err == nil {
					err = o.announce(gctx, &a, registry.Int(items[i].Attrs["version"]))
				}
				return err
			})
		}
		if err := g.Wait(); err != nil || !more {
			return err
		}
		s.After = strings.TrimPrefix(items[len(items)-1].SK, alertPrefix)
	}
}

// AnnounceClosed writes an outbox entry for each of the named alerts that exists and is not open.
func (o *Outbox) AnnounceClosed(ctx context.Context, names []AlertName) error {
	current, err := o.Alerts(ctx, names)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(announcers)
	for _, a := range current {
		if !a.Open() || a.Moved {
			g.Go(func() error { return o.announce(gctx, &a.Alert, a.Version) })
		}
	}
	return g.Wait()
}

// announcers is the number of entries that are announced concurrently.
const announcers = 32
