package devicelog

import (
	"context"
	"strconv"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Query selects the entries of a device or of an operator, or the entries that were escalated to a
// supervisor. The entries are sorted by time. Exactly one of Device, Operator and Supervisor is set.
type Query struct {
	Tenant     string
	Device     string
	Operator   string
	Supervisor string
	// State, if set, selects one state. With a final *, as in WARNING*, it selects all states that
	// begin with the text before the *. It requires Device or Supervisor.
	State  string
	Window varve.Window
	Order  varve.Order
	Limit  int // maximum number of entries in a page; 0 means registry.DefaultLimit
	Cursor string
	// Asked has the texts from which Window was parsed. The texts may mean another window later, so
	// cursors contain the window of the first page.
	Asked []string
}

// items returns the registry query that finds the entries in order, and the prefix of their sort keys.
func (q *Query) items() (iq store.ItemQuery, prefix string, err error) {
	state := q.State
	if state != "" {
		name, many := q.statePrefix()
		if many && name == "" {
			return iq, "", varve.InvalidParam("state", "* has no prefix: write one as in WARNING*, or omit state for all")
		}
		if err := checkState(name); err != nil {
			return iq, "", err
		}
		if many {
			state = "" // the items of all states together are in order of time, and the method page selects among them
		}
	}
	switch {
	case q.Operator != "":
		err = checkPerson("operator", q.Operator, varve.ValidateDevice)
		iq = store.ItemQuery{Index: store.GSI1, PK: operatorPK(q.Tenant, q.Operator)}
	case q.Supervisor != "":
		err = checkPerson("supervisor", q.Supervisor, varve.ValidateDevice)
		iq = store.ItemQuery{Index: store.GSI2, PK: supervisorPK(q.Tenant, q.Supervisor)}
		if state != "" {
			iq.PK = supervisorStatePK(q.Tenant, state, q.Supervisor)
		}
	default:
		if err = varve.ValidateDevice(q.Device); err != nil {
			err = varve.InvalidParam("device", "%s", err)
		}
		iq, prefix = store.ItemQuery{PK: registry.DevicePK(q.Tenant, q.Device)}, logPrefix
		if state != "" {
			prefix = stateLogPrefix + state + "#"
		}
	}
	if err == nil {
		iq.Limit, err = registry.PageLimit(q.Limit)
	}
	iq.Order, iq.Consistent = q.Order, true
	return iq, prefix, err
}

// List returns a page of entries. If State has a final *, a page may be short or empty although
// more pages follow.
func (l *Log) List(ctx context.Context, q Query) (page registry.Page[Entry], err error) {
	iq, prefix, err := q.items()
	if err != nil {
		return page, err
	}
	question := append([]string{"logs", iq.PK, prefix, q.Order.String()}, q.Asked...)
	if _, many := q.statePrefix(); many {
		question = append(question, q.State)
	}
	if q.Cursor != "" {
		if iq.After, err = q.resume(question, &iq); err != nil {
			return page, err
		}
	}
	if err := q.Window.Validate(); err != nil {
		return page, varve.InvalidParam("to", "%s", err)
	}
	iq.From, iq.To = prefix+registry.TimeText(q.Window.From), prefix+registry.TimeText(q.Window.To)
	if !q.Window.From.Before(q.Window.To) {
		return page, nil
	}
	f, err := l.page(ctx, &q, iq)
	if err != nil {
		return page, err
	}
	for i := range f.items {
		e, err := entryOf(q.Tenant, &f.items[i])
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, e)
	}
	if f.more {
		page.Next = registry.EncodeCursor(question, f.last.PK, f.last.SK, f.last.In(iq.Index).SK,
			strconv.FormatInt(q.Window.From.UnixNano(), 10), strconv.FormatInt(q.Window.To.UnixNano(), 10))
	}
	return page, nil
}

// resume sets the window from the cursor, and returns the last item of the previous page.
func (q *Query) resume(question []string, iq *store.ItemQuery) (*store.Item, error) {
	place, err := registry.ParseCursor(q.Cursor, question, 5)
	if err != nil {
		return nil, err
	}
	from, err1 := strconv.ParseInt(place[3], 10, 64)
	to, err2 := strconv.ParseInt(place[4], 10, 64)
	if err1 != nil || err2 != nil {
		return nil, registry.InvalidCursor()
	}
	q.Window = varve.Window{From: time.Unix(0, from), To: time.Unix(0, to)}
	at := store.Key{PK: iq.PK, SK: place[2]}
	it := &store.Item{Key: store.Key{PK: place[0], SK: place[1]}}
	switch iq.Index {
	case store.GSI1:
		it.GSI1 = at
	case store.GSI2:
		it.GSI2 = at
	default:
		it.Key = at
	}
	return it, nil
}
