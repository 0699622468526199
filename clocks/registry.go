package clocks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Offset is the error of a device's clock.
type Offset struct {
	From  time.Time     `json:"from"`  // the offset applies to this and later sent times
	Ahead time.Duration `json:"ahead"` // how far the clock is ahead, in nanoseconds
}

const (
	// samples is the number of consistent samples from which an offset is learned.
	samples = 5
	// sampleGap is the shortest time between the arrivals of two samples. So an offset takes at
	// least two minutes to learn. In an uploaded backlog, event times advance faster than arrivals.
	// In two minutes, their difference changes by more than maxSpread, so a backlog teaches no offset.
	sampleGap = 30 * time.Second
	// maxSpread is the largest difference between the offsets of consistent samples.
	maxSpread = 20 * time.Second
	// maxOffsets limits the offsets of a series. If the clock of its device changes more often, no
	// further offset is learned.
	maxOffsets = 8
	// maxLearning limits the series with samples. At the limit, the first sample of another series clears
	// all earlier samples.
	maxLearning = 10_000
	// cacheFor is the maximum age of the cached offsets of a stream.
	cacheFor = 10 * time.Second
)

// Registry learns and stores the offsets of clocks. It is safe for concurrent use.
type Registry struct {
	items store.Items
	known *registry.Cache[streamKey, map[string][]Offset]

	mu       sync.Mutex
	learning map[varve.Series][]sample
}

type streamKey struct{ tenant, stream string }

// sample has two times of a reading: the time that its device sent, and its arrival. The sent time
// was in the future at the arrival.
type sample struct {
	sent, arrived time.Time
}

func (s sample) ahead() time.Duration { return s.sent.Sub(s.arrived) }

// New returns a registry over items.
func New(items store.Items, now func() time.Time) *Registry {
	return &Registry{
		items: items, learning: map[varve.Series][]sample{},
		known: registry.NewCache[streamKey](registry.CacheOptions[map[string][]Offset]{TTL: cacheFor, Now: now, Max: 1000}),
	}
}

func partition(tenant, stream string) string { return "CLOCK#" + tenant + "/" + stream }

// Offsets returns the learned offsets of a stream, by device. Callers must not change the result.
// Offsets that other processes learned in the last ten seconds may be missing.
func (g *Registry) Offsets(ctx context.Context, tenant, stream string) (map[string][]Offset, error) {
	return g.known.Get(ctx, streamKey{tenant, stream}, func(ctx context.Context) (map[string][]Offset, error) {
		all := map[string][]Offset{}
		for it, err := range registry.All(ctx, g.items, store.ItemQuery{PK: partition(tenant, stream), Consistent: true}) {
			if err != nil {
				return nil, fmt.Errorf("read clocks of stream %s: %w", stream, err)
			}
			offsets, err := decode(it)
			if err != nil {
				return nil, err
			}
			all[it.SK] = offsets
		}
		return all, nil
	})
}

const attrOffsets = "offsets" // JSON array of Offset

func decode(it *store.Item) (offsets []Offset, err error) {
	if err := json.Unmarshal([]byte(it.Attrs[attrOffsets].Text()), &offsets); err != nil {
		return nil, fmt.Errorf("item %s %s: %s: %w", it.PK, it.SK, attrOffsets, err)
	}
	return offsets, nil
}

// Observe adds a sample: a reading whose sent time was in the future when it arrived. If the last
// samples are consistent, it stores their offset and returns true. The offset applies from the sent
// time of this reading on.
//
// If a similar offset is stored already, Observe stores none and returns true. If the series already
// has maxOffsets offsets, Observe stores none and returns false.
func (g *Registry) Observe(ctx context.Context, s varve.Series, sent, arrived time.Time) (learned bool, err error) {
	ahead, ok := g.sample(s, sample{sent, arrived})
	if !ok {
		return false, nil
	}
	update := registry.Updater{Items: g.items}
	key := store.Key{PK: partition(s.Tenant, s.Stream), SK: s.Device}
	_, err = update.Update(ctx, key, "clock of "+s.String(), func(old *store.Item) (*store.Item, error) {
		var offsets []Offset
		if old != nil {
			if offsets, err = decode(old); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(offsets, func(o Offset) bool { return !sent.Before(o.From) && (o.Ahead-ahead).Abs() <= Tolerance }) {
			learned = true // a similar offset is stored already, perhaps by another process
			return nil, nil
		}
		if learned = len(offsets) < maxOffsets; !learned {
			return nil, nil
		}
		text, err := json.Marshal(append(offsets, Offset{From: sent.UTC(), Ahead: ahead}))
		if err != nil {
			return nil, err
		}
		v, err := varve.JSONValue(text)
		return &store.Item{Key: key, Attrs: map[string]varve.Value{attrOffsets: v}}, err
	})
	g.known.Forget(streamKey{s.Tenant, s.Stream})
	return learned && err == nil, err
}

// sample records a sample, unless the last one of the series arrived less than sampleGap earlier.
// If the last samples are consistent, it returns their offset, and forgets them. It also forgets
// earlier samples that arrived later by a clock that was set back since.
func (g *Registry) sample(s varve.Series, now sample) (ahead time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.learning[s]
	if n := len(list); n > 0 {
		switch passed := now.arrived.Sub(list[n-1].arrived); {
		case passed < 0: // the server's clock was set back, so the earlier samples are wrong
			list = nil
		case passed < sampleGap:
			return 0, false
		}
	}
	if len(list) == 0 && len(g.learning) >= maxLearning {
		clear(g.learning)
	}
	list = append(list, now)
	list = slices.Clone(list[max(0, len(list)-samples):])
	g.learning[s] = list
	least, most := now.ahead(), now.ahead()
	for _, one := range list {
		least, most = min(least, one.ahead()), max(most, one.ahead())
	}
	if len(list) < samples || most-least > maxSpread {
		return 0, false
	}
	delete(g.learning, s)
	// A delayed reading makes the offset look smaller, so the largest offset is the most exact.
	return most.Round(time.Millisecond), true
}
