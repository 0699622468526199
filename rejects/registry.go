package rejects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Default values of the settings of rejects, for Options.Limit and Options.Retention.
const (
	DefaultLimit     = 10_000
	DefaultRetention = 30 * 24 * time.Hour
)

// tenantLimits is the bound of a tenant, as a multiple of the bound of a stream. Without it, a
// sender could avoid the bound of a stream with invented names of streams.
const tenantLimits = 10

// Options configures a Registry. Items and Now are required.
type Options struct {
	Items store.Items
	Now   func() time.Time
	// Limit is the maximum number of rejects per tenant and stream. A tenant has at most ten times
	// as many. 0 means that no reject is stored.
	Limit int
	// Retention is how long a reject lives after its last arrival. 0 means that none is stored.
	Retention time.Duration
	// Quarantine names the streams whose readings with an unacceptable time become durable rejects.
	Quarantine map[string]bool
	// Failed, if set, is called when a background write fails.
	Failed func(task string, err error)
}

// Reason is a reason for which a reject is dropped.
type Reason string

// The reasons.
const (
	BufferFull   Reason = "buffer" // too many rejects wait to be written
	LimitReached Reason = "limit"  // the stream or the tenant has too many rejects
	StoreFailed  Reason = "failed" // the store failed until the process ended
)

// Reasons returns all reasons.
func Reasons() []Reason { return []Reason{BufferFull, LimitReached, StoreFailed} }

// Counts has the numbers of rejected readings whose rejects were stored or dropped since the start.
type Counts struct {
	Stored  int64
	Dropped map[Reason]int64
}

// Registry stores rejects. It is safe for concurrent use. A nil Registry has no rejects and stores
// none.
type Registry struct {
	opts    Options
	buffer  buffer
	writing sync.Mutex        // held while items are read, merged and written
	totals  map[string]*total // numbers of rejects, by partition of an index; guarded by writing

	counting sync.Mutex
	counts   Counts

	stop    chan struct{}      // closed to end the background writer
	abort   context.CancelFunc // ends the background writer's write in progress
	stopped chan struct{}      // closed when the background writer has ended
	closing sync.Once
}

// New returns a registry. If the registry is on, New starts the background writer, which Close stops.
func New(o Options) *Registry {
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	g := &Registry{opts: o, totals: map[string]*total{}, stop: make(chan struct{}), abort: func() {}, stopped: make(chan struct{})}
	g.counts.Dropped = map[Reason]int64{}
	g.buffer.wake = make(chan struct{}, 1)
	if !g.On() {
		close(g.stopped)
		return g
	}
	ctx, abort := context.WithCancel(context.Background())
	g.abort = abort
	go g.writeBehind(ctx)
	return g
}

// On reports whether rejects are stored.
func (g *Registry) On() bool { return g != nil && g.opts.Limit > 0 && g.opts.Retention > 0 }

// Quarantines reports whether readings of a stream with an unacceptable time become durable rejects.
func (g *Registry) Quarantines(stream string) bool { return g.On() && g.opts.Quarantine[stream] }

// Counts returns the numbers of rejected readings whose rejects were stored or dropped.
func (g *Registry) Counts() Counts {
	g.counting.Lock()
	defer g.counting.Unlock()
	c := Counts{Stored: g.counts.Stored, Dropped: map[Reason]int64{}}
	for _, reason := range Reasons() {
		c.Dropped[reason] = g.counts.Dropped[reason]
	}
	return c
}

func (g *Registry) countStored(n int64) {
	g.counting.Lock()
	defer g.counting.Unlock()
	g.counts.Stored += n
}

func (g *Registry) countDropped(reason Reason, n int64) {
	g.counting.Lock()
	defer g.counting.Unlock()
	g.counts.Dropped[reason] += n
}

// Offer passes rejects to the background writer, and drops them if its buffer is full. It never
// waits for the store. The writer usually needs less than a second, and Close writes the rest.
// Offer changes the rejects in the slice.
func (g *Registry) Offer(list []Reject) {
	if !g.On() {
		return
	}
	for i := range list {
		r := &list[i]
		r.prepare()
		if !g.buffer.add(r) {
			g.countDropped(BufferFull, r.Times)
		}
	}
}

// Add stores rejects durably, and sets their ids. It returns for each reject whether it is stored.
//
// An error means that the store failed. A reject beyond the limit is dropped without an error. If
// the registry is off, it stores none, also without an error.
func (g *Registry) Add(ctx context.Context, list []Reject) (kept []bool, err error) {
	kept = make([]bool, len(list))
	if !g.On() {
		return kept, nil
	}
	for i := range list {
		list[i].prepare()
	}
	for from := 0; from < len(list); from += writeAtOnce {
		to := min(from+writeAtOnce, len(list))
		if err := g.write(ctx, list[from:to], kept[from:to]); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// writeAtOnce is the maximum number of rejects in one write.
const writeAtOnce = 100

// write merges rejects into the stored ones. If it fails, any subset may be durable.
func (g *Registry) write(ctx context.Context, list []Reject, kept []bool) error {
	g.writing.Lock()
	defer g.writing.Unlock()
	return g.writeHeld(ctx, list, kept)
}

// writeHeld does the same as write. The caller must hold the lock g.writing.
func (g *Registry) writeHeld(ctx context.Context, list []Reject, kept []bool) error {
	stored, err := g.stored(ctx, list)
	if err != nil {
		return err
	}
	var keys []store.Key // keys of the items to write, in the order of the rejects
	added := map[*total]int{}
	var dropped, times int64
	for i := range list {
		r := &list[i]
		old, ok := stored[r.key()]
		if !ok {
			totals, err := g.totalsOf(ctx, r)
			if err != nil {
				return err
			}
			if totals[0].n+added[totals[0]] >= g.opts.Limit || totals[1].n+added[totals[1]] >= tenantLimits*g.opts.Limit {
				dropped += r.Times
				continue
			}
			added[totals[0]]++
			added[totals[1]]++
			old = &Reject{}
			*old = *r
			stored[r.key()] = old
		} else {
			old.merge(r)
		}
		if !slices.Contains(keys, r.key()) {
			keys = append(keys, r.key())
		}
		kept[i] = true
		times += r.Times
	}
	items := make([]store.Item, len(keys))
	for i, key := range keys {
		items[i] = stored[key].item(g.opts.Retention)
	}
	if err := g.opts.Items.PutAll(ctx, items); err != nil {
		clear(kept)
		for t := range added {
			t.unsure = true
		}
		return fmt.Errorf("write rejects: %w", err)
	}
	for t, n := range added {
		t.n += n
	}
	g.countStored(times)
	g.countDropped(LimitReached, dropped)
	return nil
}

func (g *Registry) stored(ctx context.Context, list []Reject) (map[store.Key]*Reject, error) {
	var keys []store.Key
	for i := range list {
		if key := list[i].key(); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	items, err := g.opts.Items.Get(ctx, keys, true)
	if err != nil {
		return nil, fmt.Errorf("read rejects: %w", err)
	}
	found := map[store.Key]*Reject{}
	for i := range items {
		r, err := rejectOf(&items[i])
		if err != nil {
			return nil, err
		}
		found[items[i].Key] = &r
	}
	return found, nil
}

// total is the number of rejects in a partition of an index. It does not count rejects that other processes
// add later, so a cluster may store more rejects than Options.Limit allows.
type total struct {
	n       int
	counted time.Time
	unsure  bool // whether a failed write may have added rejects
}

const (
	// recountAfter is the age at which a total at its bound is recounted, because rejects may have
	// expired meanwhile.
	recountAfter = 10 * time.Minute
	// maxTotals bounds the remembered totals.
	maxTotals = 10_000
)

// totalsOf returns the totals of the stream and of the tenant of a reject.
func (g *Registry) totalsOf(ctx context.Context, r *Reject) (of [2]*total, err error) {
	if len(g.totals) >= maxTotals {
		clear(g.totals)
	}
	for i, q := range []store.ItemQuery{
		{Index: store.GSI2, PK: streamPK(r.Tenant, r.Stream)}, {Index: store.GSI1, PK: tenantPK(r.Tenant)},
	} {
		most := g.opts.Limit
		if i == 1 {
			most *= tenantLimits
		}
		t := g.totals[q.PK]
		if t == nil || t.unsure || t.n >= most && g.opts.Now().Sub(t.counted) >= recountAfter {
			if t, err = g.count(ctx, q); err != nil {
				return of, err
			}
			g.totals[q.PK] = t
		}
		of[i] = t
	}
	return of, nil
}

func (g *Registry) count(ctx context.Context, q store.ItemQuery) (*total, error) {
	t := &total{counted: g.opts.Now()}
	for _, err := range registry.All(ctx, g.opts.Items, q) {
		if err != nil {
			return nil, fmt.Errorf("count rejects: %w", err)
		}
		t.n++
	}
	return t, nil
}

// Delete removes rejects of a tenant, durably. A missing reject is not an error.
func (g *Registry) Delete(ctx context.Context, tenant string, list []Reject) error {
	if g == nil || len(list) == 0 {
		return nil
	}
	g.writing.Lock()
	defer g.writing.Unlock()
	for part := range slices.Chunk(list, writeAtOnce) {
		keys := make([]store.Key, len(part))
		for i := range part {
			keys[i] = keyOf(tenant, part[i].ID)
		}
		if err := g.opts.Items.DeleteAll(ctx, keys); err != nil {
			return fmt.Errorf("delete rejects: %w", err)
		}
		for i := range part {
			for _, pk := range []string{streamPK(tenant, part[i].Stream), tenantPK(tenant)} {
				if t := g.totals[pk]; t != nil {
					t.n = max(t.n-1, 0)
				}
			}
		}
	}
	return nil
}

// Get returns a reject. It fails with NotFound if the reject is missing.
func (g *Registry) Get(ctx context.Context, tenant, id string) (Reject, error) {
	missing := varve.Errorf(varve.NotFound, "reject %.40q: not found: GET /v1/rejects lists all rejects", id)
	if g == nil || id == "" {
		return Reject{}, missing
	}
	g.flush(ctx)
	items, err := g.opts.Items.Get(ctx, []store.Key{keyOf(tenant, id)}, true)
	if err != nil {
		return Reject{}, fmt.Errorf("read reject: %w", err)
	}
	if len(items) == 0 {
		return Reject{}, missing
	}
	return rejectOf(&items[0])
}

var errStopped = errors.New("the process ends")
