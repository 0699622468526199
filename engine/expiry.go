package engine

import (
	"time"

	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
)

// expirerOf returns the store as a store.Expirer. If the store's database deletes expired readings
// on its own, as DynamoDB does, expirerOf returns nil and the grace of that deletion.
func expirerOf(s store.Store, o *router.Options) (store.Expirer, time.Duration) {
	if expirer, ok := s.(store.Expirer); ok {
		return expirer, 0
	}
	return nil, router.ExpireGraceOf(o.Grace, o.Tracker != nil)
}
