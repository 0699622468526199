package fleet

import (
	"context"
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
	Rule     string     // "": any
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
	}
	s.keep = l.includes()
	if s.limit, err = limitOf(l.Limit); err != nil {
		return page, err
	}
	question := []string{"alerts", l.Tenant, l.Device, string(l.Severity), string(l.State)}
	if l.Rule != "" {
		question = append(question, l.Rule)
	}
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

// includes returns what tells the items that belong in the list from others; nil
// if all do.
func (l *AlertList) includes() func(*store.Item) bool {
	if l.Device == "" && l.State == "" && l.Rule == "" {
		return nil
	}
	return func(it *store.Item) bool {
		if _, moved := it.Attrs[movedAttr]; moved {
			return false
		}
		if l.Rule != "" && it.Attrs["rule"].Text() != l.Rule {
			return false
		}
		return l.State == "" || stateOf(it.Attrs["resolvedBy"].Text()) == l.State
	}
}
