package alerts

import (
	"context"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

// Source returns stored readings, also those that have expired and are not deleted.
type Source interface {
	// Read yields the readings of a series in a window, in order, until yield
	// returns false. It includes every reading acknowledged before, and those of the
	// write that is being watched. A reading is valid until yield returns.
	Read(ctx context.Context, s varve.Series, w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error
	// LastArrival returns when the last reading of a series arrived; false if the
	// series has none.
	LastArrival(ctx context.Context, s varve.Series) (time.Time, bool, error)
	// StreamsOf returns the streams in which a device has live readings.
	StreamsOf(ctx context.Context, tenant, device string) ([]string, error)
}

// Options configure a monitor. All but Failed are required.
type Options struct {
	Items   store.Items
	Devices *devices.Registry
	Source  Source
	Now     func() time.Time
	Holder  string // names this process in leases, uniquely
	// RequestTimeout is the limit of a request that writes readings. A reading may be
	// stored that much later than it arrived.
	RequestTimeout time.Duration
	// Failed, if set, is called when a background task fails. The task is retried.
	Failed func(task string, err error)
}

// cacheFor is how old a copy of the registry may be, where a copy is used.
const cacheFor = 10 * time.Second

// Monitor has the rules and alerts of all tenants, and evaluates the rules. It is
// safe for concurrent use.
type Monitor struct {
	opts    Options
	atomic  store.AtomicItems // Options.Items, if it is such; else nil
	rules   rules
	looks   seriesLocks
	silence silence
	closing sync.Once
}

// New returns a monitor. The caller closes it, before the registry of devices.
func New(o Options) *Monitor {
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	m := &Monitor{
		opts: o, rules: rules{tenants: map[string]*ruleSet{}},
		silence: silence{lease: lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: silenceTTL}},
	}
	m.atomic, _ = o.Items.(store.AtomicItems)
	return m
}

// Close waits until a check of deadman rules ends, and releases their lease, so
// that another process takes over at once.
func (m *Monitor) Close() {
	m.closing.Do(func() {
		m.silence.looking.Lock()
		defer m.silence.looking.Unlock()
		if err := m.silence.release(context.Background()); err != nil {
			m.opts.Failed("deadman rules", err)
		}
	})
}

// now is the time that is noted: to the millisecond.
func (m *Monitor) now() time.Time { return m.opts.Now().UTC().Truncate(time.Millisecond) }
