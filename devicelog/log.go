package devicelog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// DefaultRetention is the retention of entries if none is configured.
const DefaultRetention = 365 * 24 * time.Hour

// Options configure a log. Items and Now are required.
type Options struct {
	Items store.Items
	Now   func() time.Time
	// Retention is the retention of new entries. 0 means DefaultRetention, and retention.Forever
	// means no limit. It does not affect stored entries.
	Retention time.Duration
}

// Log is the log of device states of all tenants. It is safe for concurrent use.
type Log struct {
	opts Options
}

// New returns a log.
func New(o Options) *Log {
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	return &Log{opts: o}
}

// Add writes an entry, and returns the stored one. A stored entry with the same
// device, time and id does not change: the verdict is Duplicate, or a conflict if
// the client's own id is stored with other content. An entry that is Stored or
// Duplicate is durable.
func (l *Log) Add(ctx context.Context, sent Entry) (Entry, varve.Verdict, error) {
	sent.Arrived = l.opts.Now().UTC().Truncate(time.Millisecond)
	if err := sent.Validate(sent.Arrived); err != nil {
		return sent, varve.Verdict{}, err
	}
	last := sent.Arrived
	if sent.Time.After(last) {
		last = sent.Time
	}
	e, expires, v, err := l.putByTime(ctx, sent, retention.Add(last, l.opts.Retention))
	if err == nil {
		// The item by state is written second, from the stored entry, so that lists by state have
		// only stored entries. If this write fails, the entry is not acknowledged, and is completed
		// when it is resent.
		_, byState := e.items(expires)
		err = l.opts.Items.Put(ctx, byState, store.IfAbsent())
	}
	if err != nil && !errors.Is(err, store.ErrCondition) {
		return sent, varve.Verdict{}, fmt.Errorf("write log of device %s: %w", e.Device, err)
	}
	return e, v, nil
}

// putByTime writes the item by time of an entry, unless it exists. It returns the stored entry and
// the time at which the entry expires.
func (l *Log) putByTime(ctx context.Context, e Entry, expires time.Time) (Entry, time.Time, varve.Verdict, error) {
	byTime, _ := e.items(expires)
	for {
		err := l.opts.Items.Put(ctx, byTime, store.IfAbsent())
		if !errors.Is(err, store.ErrCondition) {
			return e, expires, varve.Verdict{Outcome: varve.Stored}, err
		}
		items, err := l.opts.Items.Get(ctx, []store.Key{byTime.Key}, true)
		if err != nil {
			return e, expires, varve.Verdict{}, err
		}
		if len(items) > 0 {
			old, err := entryOf(e.Tenant, &items[0])
			if err != nil {
				return old, items[0].Expires, varve.Verdict{}, err
			}
			return old, items[0].Expires, e.repeat(&old), nil
		}
		// The stored entry has just expired or was erased, so the next try usually succeeds.
	}
}
