package rotator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// maxExpireGap is the longest time between two passes in a row. A longer time may be a clock that
// was set forward.
const maxExpireGap = 3 * 24 * time.Hour

// expireKey is the key of the item with the retention that applies, and the time since which it
// applies.
var expireKey = store.Key{PK: "ROTATOR", SK: "EXPIRE"}

// Attributes of the item.
const (
	attrPolicy = "policy" // JSON of expirePolicy
	attrSince  = "since"  // since this time, the policy and the clock have not changed
	attrSeen   = "seen"   // time of the last pass
)

// expirePolicy is the part of the policy that decides when readings are deleted.
type expirePolicy struct {
	Classes []retention.Class
	Streams map[string]retention.Stream
	Grace   time.Duration
}

// mayExpire reports whether expired readings may be deleted now. A deletion cannot be undone, so it
// waits until the same retention has applied for the grace, with a pass at least every few days. So
// a retention that is too short by mistake, or a wrong clock, can be corrected within the grace, as
// with retired tables. Each call counts as a pass.
func (r *Rotator) mayExpire(ctx context.Context, now time.Time) (bool, error) {
	p := r.opts.Policy
	grace := max(p.Grace, r.opts.ExpireGrace)
	classes := slices.SortedFunc(slices.Values(p.Retention.Classes), func(a, b retention.Class) int { return strings.Compare(a.Name, b.Name) })
	data, err := json.Marshal(expirePolicy{classes, p.Retention.Streams, grace})
	if err != nil {
		return false, err
	}
	items, err := r.opts.Items.Get(ctx, []store.Key{expireKey}, true)
	if err != nil {
		return false, fmt.Errorf("read the retention that applied before: %w", err)
	}
	since := now
	if len(items) > 0 && items[0].Attrs[attrPolicy].Text() == string(data) {
		seen, ok := timeOf(items[0].Attrs[attrSeen])
		if ok && !now.Before(seen) && now.Sub(seen) <= maxExpireGap {
			if first, ok := timeOf(items[0].Attrs[attrSince]); ok {
				since = first
			}
		}
	}
	err = r.opts.Items.Put(ctx, store.Item{Key: expireKey, Attrs: map[string]varve.Value{
		attrPolicy: varve.StringValue(string(data)), attrSince: varve.IntValue(since.Unix()), attrSeen: varve.IntValue(now.Unix()),
	}})
	if err != nil {
		return false, fmt.Errorf("record the retention that applies: %w", err)
	}
	return now.Sub(since) >= grace, nil
}

// timeOf returns the time of an attribute, in seconds since 1970.
func timeOf(v varve.Value) (time.Time, bool) {
	sec, ok := v.Int()
	return time.Unix(sec, 0), ok
}
