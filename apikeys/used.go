package apikeys

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	// usedPartition is the partition of the times at which keys were last used. They are not
	// attributes of the keys, because the IAM policy of a router allows no writes to the partition
	// of the keys.
	usedPartition = "KEYUSE"
	attrUsed      = "used"
	// usedFor is how long the record of the last use of a key is kept, counted from this use.
	usedFor = 2 * 365 * 24 * time.Hour
)

// usage remembers when keys were last used, to the minute, until the times are written.
type usage struct {
	mu      sync.RWMutex
	minutes map[string]int64     // by id, the last minute of use, in minutes since 1970
	pending map[string]time.Time // by id, the times of last use that are not written yet
}

// touch records the use of a key. Only the first use in a minute changes anything.
func (u *usage) touch(id string, now time.Time) {
	minute := now.Unix() / 60
	u.mu.RLock()
	last, known := u.minutes[id]
	u.mu.RUnlock()
	if known && last >= minute {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.minutes) >= maxKnown {
		clear(u.minutes)
	}
	u.minutes[id], u.pending[id] = minute, now.UTC().Truncate(time.Minute)
}

// takePending returns and removes the times that are to be written.
func (u *usage) takePending() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.pending
	u.pending = map[string]time.Time{}
	return taken
}

// restore makes times pending again. It does not replace newer pending times.
func (u *usage) restore(taken map[string]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range taken {
		if _, newer := u.pending[id]; !newer {
			u.pending[id] = at
		}
	}
}

// newest returns the later of a stored time and a pending one.
func (u *usage) newest(id string, stored time.Time) time.Time {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if at := u.pending[id]; at.After(stored) {
		return at
	}
	return stored
}

// WriteUsed stores the pending times of last use. The caller calls it every minute, and before the
// store is closed. After an error, the next call retries the same times.
func (r *Registry) WriteUsed(ctx context.Context) error {
	taken := r.used.takePending()
	if len(taken) == 0 {
		return nil
	}
	items := make([]store.Item, 0, len(taken))
	for id, at := range taken {
		items = append(items, store.Item{
			Key: store.Key{PK: usedPartition, SK: id}, Expires: at.Add(usedFor),
			Attrs: map[string]varve.Value{attrUsed: varve.StringValue(at.Format(timeForm))},
		})
	}
	if err := r.items.PutAll(ctx, items); err != nil {
		r.used.restore(taken)
		return fmt.Errorf("write when keys were last used: %w", err)
	}
	return nil
}

func (r *Registry) addUsed(ctx context.Context, list []Key) error {
	stored := map[string]time.Time{}
	for it, err := range registry.All(ctx, r.items, store.ItemQuery{PK: usedPartition}) {
		if err != nil {
			return fmt.Errorf("read when keys were last used: %w", err)
		}
		at, err := time.Parse(time.RFC3339, it.Attrs[attrUsed].Text())
		if err != nil {
			return fmt.Errorf("item %s %s: %w", it.PK, it.SK, err)
		}
		stored[it.SK] = at
	}
	for i := range list {
		list[i].Used = r.used.newest(list[i].ID, stored[list[i].ID])
	}
	return nil
}
