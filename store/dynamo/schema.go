package dynamo

import (
	"github.com/varvedb/varve/store"
)

// RegistryIndex is one of the registry's orders: its table's own, whose name is
// empty, or an index. All keys are strings, and indexes hold whole items.
type RegistryIndex struct{ Name, PK, SK string }

// RegistryIndexes returns the registry's orders, its table's own first.
func RegistryIndexes() []RegistryIndex {
	all := []RegistryIndex{}
	for _, ix := range []store.Index{store.Primary, store.GSI1, store.GSI2} {
		pk, sk := indexAttrs(ix)
		r := RegistryIndex{PK: pk, SK: sk}
		if ix != store.Primary {
			r.Name = indexName(ix)
		}
		all = append(all, r)
	}
	return all
}

// RegistryTTL is the attribute that says when an item of the registry expires,
// in seconds since 1970.
const RegistryTTL = attrExp
