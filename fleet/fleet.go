package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// Source is where stored readings are asked for.
type Source interface {
	// Read hands on the readings of a series in a window, also those that have
	// expired and are not deleted yet, in order, until yield returns false. It sees
	// every reading acknowledged before, and those that the write which is being
	// watched has stored. A reading is good until yield returns.
	Read(ctx context.Context, s varve.Series, w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error
	// LastArrival returns when the last reading of a series arrived, expired or
	// not; false if it has none.
	LastArrival(ctx context.Context, s varve.Series) (time.Time, bool, error)
	// StreamsOf returns the streams in which a device has live readings.
	StreamsOf(ctx context.Context, tenant, device string) ([]string, error)
}

// Options are what a fleet works with. All but LogRetention and Events are
// required.
type Options struct {
	Items  store.Items
	Source Source
	Policy *retention.Policy
	Now    func() time.Time
	Holder string // names this process in leases, uniquely
	// LogRetention is how long log entries live; 0 is DefaultLogRetention,
	// retention.Forever is for ever. Entries keep what they were written with.
	LogRetention time.Duration
	Events       Events
}

// DefaultLogRetention is how long log entries live if nothing is configured.
const DefaultLogRetention = 365 * 24 * time.Hour

// Events are called as things happen. Nil ones are skipped.
type Events struct {
	// Failed: something that nobody waits for could not be done; it is tried
	// again in a while.
	Failed func(what string, err error)
}

// cacheFor is how old a copy of the registry may be, where a copy is used.
const cacheFor = 10 * time.Second

// Fleet is safe for concurrent use.
type Fleet struct {
	opts    Options
	atomic  store.AtomicItems // Options.Items, if it is such; else nil
	seen    seen
	keeps   keeps
	rules   rules
	looks   seriesLocks
	silence silence

	closing sync.Once
	stop    chan struct{}
	stopped chan struct{}
}

// New returns a fleet. The caller closes it, before the store.
func New(o Options) *Fleet {
	if o.LogRetention == 0 {
		o.LogRetention = DefaultLogRetention
	}
	if o.Events.Failed == nil {
		o.Events.Failed = func(string, error) {}
	}
	f := &Fleet{
		opts: o, seen: newSeen(), keeps: newKeeps(), rules: rules{tenants: map[string]*ruleSet{}},
		silence: silence{lease: lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: silenceTTL}},
		stop:    make(chan struct{}), stopped: make(chan struct{}),
	}
	f.atomic, _ = o.Items.(store.AtomicItems)
	go f.writeSeen()
	return f
}

// Close waits for a look after deadman rules to end, and lets another process go
// on with them; it writes when devices were last seen, as far as that was not
// done, and ends the goroutine that does so.
func (f *Fleet) Close() {
	f.closing.Do(func() {
		close(f.stop)
		<-f.stopped
		f.silence.looking.Lock()
		defer f.silence.looking.Unlock()
		if err := f.silence.release(context.Background()); err != nil {
			f.opts.Events.Failed("deadman rules", err)
		}
	})
}

// now is the time that is noted: to the millisecond.
func (f *Fleet) now() time.Time { return f.opts.Now().UTC().Truncate(time.Millisecond) }
