package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// AlertList asks for alerts, the newest first: of a device, or of a severity
// across devices.
type AlertList struct {
	Tenant   string
	Device   string     // "": across devices
	Severity Severity   // across devices; "": any
	State    AlertState // "": any
	Limit    int        // of a page; 0: DefaultLimit
	Cursor   string
}

// Alerts returns a page of alerts. Those of another state are read, and passed
// over.
func (f *Fleet) Alerts(ctx context.Context, l AlertList) (page Page[Alert], err error) {
	s := span{index: store.GSI1, prefix: alertPrefix, order: varve.Descending}
	switch {
	case l.Device != "":
		if err := varve.ValidateDevice(l.Device); err != nil {
			return page, varve.InvalidParam("device", "%s", err)
		}
		s.index, s.pks = store.Primary, []string{devicePK(l.Tenant, l.Device)}
	case l.Severity == "":
		s.pks = allShards(severityKind, l.Tenant, Severities()...)
	default:
		if err := checkSeverity(l.Severity); err != nil {
			return page, err
		}
		s.pks = allShards(severityKind, l.Tenant, l.Severity)
	}
	if l.State != "" {
		if err := checkAlertState(l.State); err != nil {
			return page, err
		}
		s.keep = func(it *store.Item) bool { return stateOf(it.Attrs["resolvedBy"].Text()) == l.State }
	}
	if s.limit, err = limitOf(l.Limit); err != nil {
		return page, err
	}
	question := []string{"alerts", l.Tenant, l.Device, string(l.Severity), string(l.State)}
	if l.Cursor != "" {
		place, err := parseCursor(l.Cursor, question, 1)
		if err != nil {
			return page, err
		}
		s.after = place[0]
	}
	items, more, err := f.merge(ctx, s)
	if err != nil {
		return page, fmt.Errorf("list alerts: %w", err)
	}
	page.Items = make([]Alert, len(items))
	for i := range items {
		if page.Items[i], err = alertOf(l.Tenant, &items[i]); err != nil {
			return page, err
		}
	}
	if more {
		page.Next = encodeCursor(question, page.Items[len(items)-1].ID)
	}
	return page, nil
}

// ResolveAlert resolves an alert by hand, unless it is resolved, and returns it.
// It stays resolved even if the condition holds on; when it holds anew, that is
// another alert. It fails with NotFound.
func (f *Fleet) ResolveAlert(ctx context.Context, tenant, id string) (Alert, error) {
	if len(id) != alertIDLen {
		return Alert{}, noAlert(id)
	}
	page, err := f.opts.Items.Query(ctx, store.ItemQuery{Index: store.GSI2, PK: alertIDPK(tenant, id), Limit: 1})
	if err != nil {
		return Alert{}, fmt.Errorf("find alert %s: %w", id, err)
	}
	if len(page.Items) == 0 {
		return Alert{}, noAlert(id)
	}
	for key := page.Items[0].Key; ; {
		items, err := f.opts.Items.Get(ctx, []store.Key{key}, true)
		if err != nil {
			return Alert{}, fmt.Errorf("read alert %s: %w", id, err)
		}
		if len(items) == 0 {
			return Alert{}, varve.Errorf(varve.NotFound, "alert %q is gone: a late reading has shown that it began earlier, and another is in its place", id)
		}
		a, err := alertOf(tenant, &items[0])
		if err != nil || !a.Open() {
			return a, err
		}
		a.ResolvedAt, a.ResolvedBy = f.now(), ByHand
		err = f.opts.Items.Put(ctx, a.item(intOf(items[0].Attrs["version"])+1), store.IfEquals("version", items[0].Attrs["version"]))
		if err == nil {
			return a, nil
		}
		if !errors.Is(err, store.ErrCondition) {
			return a, fmt.Errorf("write alert %s: %w", id, err)
		}
		// It has changed: look again.
	}
}

func noAlert(id string) error {
	return varve.Errorf(varve.NotFound, "there is no alert %s", quoted(id))
}

// alert returns an alert and its version; nil if there is none.
func (f *Fleet) alert(ctx context.Context, tenant, device, id string) (*Alert, varve.Value, error) {
	items, err := f.opts.Items.Get(ctx, []store.Key{alertKey(tenant, device, id)}, true)
	if err != nil || len(items) == 0 {
		return nil, varve.Value{}, err
	}
	a, err := alertOf(tenant, &items[0])
	return &a, items[0].Attrs["version"], err
}

// raise writes what readings say of an alert. What people said of it stays.
func (f *Fleet) raise(ctx context.Context, a Alert) error {
	for {
		old, version, err := f.alert(ctx, a.Tenant, a.Device, a.ID)
		if err != nil {
			return err
		}
		cond, next := store.IfAbsent(), int64(1)
		if old != nil {
			if a.Late = old.Late; old.ResolvedBy == ByHand {
				a.ResolvedAt, a.ResolvedBy = old.ResolvedAt, old.ResolvedBy
			}
			cond, next = store.IfEquals("version", version), intOf(version)+1
		}
		err = f.opts.Items.Put(ctx, a.item(next), cond)
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
		// It has changed: look again.
	}
}
