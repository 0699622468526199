package devicelog

import (
	"context"
	"fmt"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// FindEntries returns the number of entries of a device in a window, and the keys of their items. The keys
// of items by state come first. So if a deletion in this order is interrupted, each entry that still has an
// item has its item by time.
func FindEntries(ctx context.Context, items store.Items, tenant, device string, w varve.Window) (entries int, keys []store.Key, err error) {
	for _, prefix := range []string{stateLogPrefix, logPrefix} {
		q := store.ItemQuery{PK: registry.DevicePK(tenant, device), From: prefix, To: store.PrefixEnd(prefix), Consistent: true}
		for it, err := range registry.All(ctx, items, q) {
			if err != nil {
				return 0, nil, fmt.Errorf("log of device %s: %w", device, err)
			}
			rest := strings.TrimPrefix(it.SK, prefix)
			if prefix == stateLogPrefix {
				rest = strings.TrimPrefix(rest, it.Attrs["state"].Text()+"#")
			}
			text, _, _ := strings.Cut(rest, "#")
			at, err := registry.ParseTime(text)
			if err != nil {
				return 0, nil, fmt.Errorf("log of device %s: item %s: %w", device, it.SK, err)
			}
			if !w.Contains(at) {
				continue
			}
			keys = append(keys, it.Key)
			if prefix == logPrefix {
				entries++
			}
		}
	}
	return entries, keys, nil
}
