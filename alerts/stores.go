package alerts

import "github.com/varvedb/varve/store"

type stores struct {
	records recordStore
	alerts  *alertStore
	atomic  store.AtomicItems // nil if the registry writes items one by one
}
