package devices

import (
	"context"
	"sync"
	"time"

	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// StreamFinder finds the streams in which a device has readings that are not expired.
type StreamFinder interface {
	StreamsOf(ctx context.Context, tenant, device string) ([]string, error)
}

// Options configure a registry. All but Failed are required.
type Options struct {
	Items  store.Items
	Policy *retention.Policy
	Now    func() time.Time
	// Failed, if set, is called when a background task fails. The task is retried.
	Failed func(task string, err error)
}

// Bounds of the cached retention overrides.
const (
	cacheFor     = 10 * time.Second // the maximum age of a cached override
	maxOverrides = 10_000           // the maximum number of devices whose overrides are cached
)

// Registry has the devices of all tenants. It is safe for concurrent use.
type Registry struct {
	opts       Options
	lastSeen   lastSeen
	overriding *registry.Cache[string, bool] // whether devices of a tenant may have overrides
	overrides  *registry.Cache[deviceID, time.Duration]
	existing   existing

	closing sync.Once
	stop    chan struct{}
	stopped chan struct{}
}

// New returns a registry. The caller closes it, before the store.
func New(o Options) *Registry {
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	r := &Registry{
		opts: o, lastSeen: newLastSeen(), existing: existing{found: map[deviceID]finding{}},
		overriding: registry.NewCache[string](registry.CacheOptions[bool]{
			TTL: cacheFor, Now: o.Now, Lasting: func(overriding bool) bool { return overriding },
		}),
		overrides: registry.NewCache[deviceID](registry.CacheOptions[time.Duration]{TTL: cacheFor, Now: o.Now, Max: maxOverrides}),
		stop:      make(chan struct{}), stopped: make(chan struct{}),
	}
	go r.writeInBackground()
	return r
}

// Close writes the pending last-seen times, and ends the background writer.
func (r *Registry) Close() {
	r.closing.Do(func() {
		close(r.stop)
		<-r.stopped
	})
}

// now returns the current time to the millisecond, as records store it.
func (r *Registry) now() time.Time { return r.opts.Now().UTC().Truncate(time.Millisecond) }
