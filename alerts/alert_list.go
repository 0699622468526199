package alerts

import (
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// AlertList selects alerts of one device or of all devices. The newest alert is first.
type AlertList struct {
	Tenant   string
	Device   string     // "" means all devices
	Severity Severity   // "" means any severity
	State    AlertState // "" means any state
	Rule     string     // "" means any rule
	Stream   string     // "" means any stream
	// Window selects alerts by the event time from which their condition holds. The zero window means
	// any time.
	Window varve.Window
	// Asked has the texts from which Window was parsed. A cursor is valid only for the same texts.
	Asked  []string
	Limit  int // maximum number of alerts in a page; 0 means registry.DefaultLimit
	Cursor string
}

// Alerts returns a page of the alerts that l selects. Other alerts of the same device, or of the
// tenant, are read and skipped.
func (m *Monitor) Alerts(ctx context.Context, l AlertList) (page registry.Page[Alert], err error) {
	if l.Severity != "" {
		if err := checkSeverity(l.Severity); err != nil {
			return page, err
		}
	}
	s := registry.Span{Index: store.GSI1, Prefix: alertPrefix, Order: varve.Descending}
	switch {
	case l.Device != "":
		if err := varve.ValidateDevice(l.Device); err != nil {
			return page, varve.InvalidParam("device", "%s", err)
		}
		s.Index, s.PKs = store.Primary, []string{registry.DevicePK(l.Tenant, l.Device)}
	case l.Severity == "":
		s.PKs = registry.AllShards(severityKind, l.Tenant, Severities()...)
	default:
		s.PKs = registry.AllShards(severityKind, l.Tenant, l.Severity)
	}
	if l.State != "" {
		if err := checkAlertState(l.State); err != nil {
			return page, err
		}
	}
	if l.Window != (varve.Window{}) {
		if !l.Window.From.Before(l.Window.To) {
			return page, nil
		}
		s.From, s.To = string(appendHexTime(nil, l.Window.From.UnixNano())), string(appendHexTime(nil, l.Window.To.UnixNano()))
	}
	s.Match = l.match()
	if s.Limit, err = registry.PageLimit(l.Limit); err != nil {
		return page, err
	}
	question := l.question()
	if l.Cursor != "" {
		place, err := registry.ParseCursor(l.Cursor, question, 1)
		if err != nil {
			return page, err
		}
		s.After = place[0]
	}
	items, more, err := registry.Merge(ctx, m.opts.Items, s)
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
		page.Next = registry.EncodeCursor(question, page.Items[len(items)-1].ID)
	}
	return page, nil
}

// question returns the texts that identify the list in its cursors.
func (l *AlertList) question() []string {
	question := []string{"alerts", l.Tenant, l.Device, string(l.Severity), string(l.State)}
	if l.Rule != "" {
		question = append(question, l.Rule)
	}
	if l.Stream != "" {
		question = append(question, "stream", l.Stream)
	}
	if l.Window != (varve.Window{}) {
		question = append(append(question, "window"), l.Asked...)
	}
	return question
}

// match returns a filter that selects the items of the list, or nil if the list includes all items
// that are read.
func (l *AlertList) match() func(*store.Item) bool {
	if l.Device == "" && l.State == "" && l.Rule == "" && l.Stream == "" && l.Severity == "" {
		return nil
	}
	return func(it *store.Item) bool {
		if _, moved := it.Attrs[movedAttr]; moved {
			return false
		}
		if l.Rule != "" && it.Attrs["rule"].Text() != l.Rule {
			return false
		}
		if l.Stream != "" && it.Attrs["stream"].Text() != l.Stream {
			return false
		}
		if l.Severity != "" && it.Attrs["severity"].Text() != string(l.Severity) {
			return false
		}
		return l.State == "" || stateOf(it.Attrs["resolvedBy"].Text()) == l.State
	}
}
