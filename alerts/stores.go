package alerts

import "github.com/varvedb/varve/store"

// stores are the stores of episodes and alerts.
type stores struct {
	records recordStore
	alerts  *alertStore
	atomic  store.AtomicItems // nil if the registry writes items one by one
}
