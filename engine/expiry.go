package engine

import (
	"time"

	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
)

// expirerOf returns the part of the store that deletes expired readings. It is nil if the database
// deletes them on its own, after the returned grace.
func expirerOf(s store.Store, o *router.Options) (store.Expirer, time.Duration) {
	if expirer, ok := s.(store.Expirer); ok {
		return expirer, 0
	}
	return nil, router.ExpireGraceOf(o.Grace, o.Tracker != nil)
}
