package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// AddLog writes an entry, and returns the one that is stored. One that is there
// already, of the same device, time and id, stays as it is: it is a Duplicate, or
// a conflict if its own id is stored with other content. What is Stored or
// Duplicate is durable.
func (f *Fleet) AddLog(ctx context.Context, sent Log) (Log, varve.Verdict, error) {
	sent.Arrived = f.now()
	if err := sent.Validate(sent.Arrived); err != nil {
		return sent, varve.Verdict{}, err
	}
	last := sent.Arrived
	if sent.Time.After(last) {
		last = sent.Time
	}
	l, expires, v, err := f.placeLog(ctx, sent, retention.Add(last, f.opts.LogRetention))
	if err == nil {
		// The item by state goes second, and says what is stored: a list by state
		// has no entry but such. Where this is cut off, nobody was told, and the
		// entry is made whole when it is sent again.
		_, byState := l.items(expires)
		err = f.opts.Items.Put(ctx, byState, store.IfAbsent())
	}
	if err != nil && !errors.Is(err, store.ErrCondition) {
		return sent, varve.Verdict{}, fmt.Errorf("write log of device %s: %w", l.Device, err)
	}
	return l, v, nil
}

// placeLog writes an entry's item by time, or finds the one that is there. It
// returns what is stored, and until when.
func (f *Fleet) placeLog(ctx context.Context, l Log, expires time.Time) (Log, time.Time, varve.Verdict, error) {
	byTime, _ := l.items(expires)
	for {
		err := f.opts.Items.Put(ctx, byTime, store.IfAbsent())
		if !errors.Is(err, store.ErrCondition) {
			return l, expires, varve.Verdict{Outcome: varve.Stored}, err
		}
		items, err := f.opts.Items.Get(ctx, []store.Key{byTime.Key}, true)
		if err != nil {
			return l, expires, varve.Verdict{}, err
		}
		if len(items) > 0 {
			old, err := logOf(l.Tenant, &items[0])
			if err != nil {
				return old, items[0].Expires, varve.Verdict{}, err
			}
			return old, items[0].Expires, l.repeat(&old), nil
		}
		// Its time has just come: there is room.
	}
}

// LogList asks for entries in the order of time: of a device, of an operator,
// or escalated to a supervisor. One of the three is set.
type LogList struct {
	Tenant     string
	Device     string
	Operator   string
	Supervisor string
	State      string // of a device or supervisor: only this state; "": any
	Window     varve.Window
	Order      varve.Order
	Limit      int // of a page; 0: DefaultLimit
	Cursor     string
	// Asked is how the window was asked for, if that may mean another one on
	// the next page: a cursor carries the window of the first.
	Asked []string
}

// query returns the one ordered query that the list is.
func (l *LogList) query() (q store.ItemQuery, prefix string, err error) {
	if l.State != "" {
		if err := checkState(l.State); err != nil {
			return q, "", err
		}
	}
	switch {
	case l.Operator != "":
		err = checkPerson("operator", l.Operator)
		q = store.ItemQuery{Index: store.GSI1, PK: operatorPK(l.Tenant, l.Operator)}
	case l.Supervisor != "":
		err = checkPerson("supervisor", l.Supervisor)
		q = store.ItemQuery{Index: store.GSI2, PK: supervisorPK(l.Tenant, l.Supervisor)}
		if l.State != "" {
			q.PK = supervisorStatePK(l.Tenant, l.State, l.Supervisor)
		}
	default:
		if err = varve.ValidateDevice(l.Device); err != nil {
			err = varve.InvalidParam("device", "%s", err)
		}
		q, prefix = store.ItemQuery{PK: devicePK(l.Tenant, l.Device)}, logPrefix
		if l.State != "" {
			prefix = stateLogPrefix + l.State + "#"
		}
	}
	if err == nil {
		q.Limit, err = limitOf(l.Limit)
	}
	q.Order, q.Consistent = l.Order, true
	return q, prefix, err
}

// Logs returns a page of entries.
func (f *Fleet) Logs(ctx context.Context, l LogList) (Page[Log], error) {
	q, prefix, err := l.query()
	if err != nil {
		return Page[Log]{}, err
	}
	question := append([]string{"logs", q.PK, prefix, l.Order.String()}, l.Asked...)
	if l.Cursor != "" {
		if q.After, err = l.goOn(question, &q); err != nil {
			return Page[Log]{}, err
		}
	}
	if err := l.Window.Validate(); err != nil {
		return Page[Log]{}, varve.InvalidParam("to", "%s", err)
	}
	q.From, q.To = prefix+timeText(l.Window.From), prefix+timeText(l.Window.To)
	if !l.Window.From.Before(l.Window.To) {
		return Page[Log]{}, nil
	}
	items, err := f.opts.Items.Query(ctx, q)
	if err != nil {
		return Page[Log]{}, fmt.Errorf("list logs: %w", err)
	}
	var page Page[Log]
	for i := range items.Items {
		one, err := logOf(l.Tenant, &items.Items[i])
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, one)
	}
	if items.More {
		last := &items.Items[len(items.Items)-1]
		page.Next = encodeCursor(question, last.PK, last.SK, last.In(q.Index).SK,
			strconv.FormatInt(l.Window.From.UnixNano(), 10), strconv.FormatInt(l.Window.To.UnixNano(), 10))
	}
	return page, nil
}

// goOn takes the window out of a cursor, and returns the item that it ended at.
func (l *LogList) goOn(question []string, q *store.ItemQuery) (*store.Item, error) {
	place, err := parseCursor(l.Cursor, question, 5)
	if err != nil {
		return nil, err
	}
	from, err1 := strconv.ParseInt(place[3], 10, 64)
	to, err2 := strconv.ParseInt(place[4], 10, 64)
	if err1 != nil || err2 != nil {
		return nil, badCursor()
	}
	l.Window = varve.Window{From: time.Unix(0, from), To: time.Unix(0, to)}
	at := store.Key{PK: q.PK, SK: place[2]}
	it := &store.Item{Key: store.Key{PK: place[0], SK: place[1]}}
	switch q.Index {
	case store.GSI1:
		it.GSI1 = at
	case store.GSI2:
		it.GSI2 = at
	default:
		it.Key = at
	}
	return it, nil
}
