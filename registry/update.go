package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// AttrVersion is the name of the attribute that each update of an item increases by one.
const AttrVersion = "version"

// Updater changes items that several processes may change at the same time.
type Updater struct {
	Items store.Items
	// Legacy is the attribute that identifies the state of items without a version. If empty, all
	// items have versions.
	Legacy string
}

// Update changes an item and returns the stored result.
//
// The function "change" receives the stored item, or nil if it is missing. It returns the next
// state, or nil if nothing needs to be written. Update sets the version of the next state. Each
// time that another process has written the item meanwhile, Update calls the function with the
// newly stored item. So the function must compute everything from its argument.
//
// Errors of the function are returned unchanged. Errors of the store begin with the action that
// failed and the argument "name", which names the item.
func (u Updater) Update(ctx context.Context, key store.Key, name string, change func(old *store.Item) (next *store.Item, err error)) (*store.Item, error) {
	for {
		items, err := u.Items.Get(ctx, []store.Key{key}, true)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		var old *store.Item
		if len(items) > 0 {
			old = &items[0]
		}
		next, err := change(old)
		if next == nil || err != nil {
			return old, err
		}
		next.Attrs[AttrVersion] = varve.IntValue(VersionOf(old) + 1)
		err = u.Items.Put(ctx, *next, u.unchanged(old))
		if err == nil {
			return next, nil
		}
		if !errors.Is(err, store.ErrCondition) {
			return old, fmt.Errorf("write %s: %w", name, err)
		}
	}
}

// VersionOf returns the version of an item, or 0 if it is nil. An item that an old release wrote
// without a version has version 1.
func VersionOf(it *store.Item) int64 {
	if it == nil {
		return 0
	}
	return max(Int(it.Attrs[AttrVersion]), 1)
}

// unchanged returns the condition that the stored item is still in the state that was read.
func (u Updater) unchanged(old *store.Item) store.Cond {
	if old == nil {
		return store.IfAbsent()
	}
	if v, ok := old.Attrs[AttrVersion]; ok || u.Legacy == "" {
		return store.IfEquals(AttrVersion, v)
	}
	return store.IfEquals(u.Legacy, old.Attrs[u.Legacy])
}
