package fields

import (
	"hash/maphash"
	"strings"
	"sync"

	"github.com/varvedb/varve"
)

// The cache has room for about 85,000 series with at most 8 names each. Each part has its own lock.
const (
	parts       = 64
	partBytes   = 256 << 10 // maximum size of each of the two maps of a part, in bytes
	seriesBytes = 320       // assumed size of a series without its names, in bytes
)

// cache remembers series in two maps. When the young map is full, it replaces the aged one. So a
// series is forgotten if it was not used since the previous replacement. The zero cache is ready
// for use.
type cache struct {
	once  sync.Once
	seed  maphash.Seed
	parts [parts]part
}

type part struct {
	mu          sync.Mutex
	young, aged map[uint64]*names // keyed by the hash of the series
	bytes       int               // size of the map young, in bytes
}

// hash returns a hash of a series. It hashes each name on its own, which is several times as fast as
// maphash.Comparable.
func (c *cache) hash(s varve.Series) uint64 {
	c.once.Do(func() { c.seed = maphash.MakeSeed() })
	const prime = 0x9e3779b185ebca87
	h := maphash.String(c.seed, s.Device)
	h = h*prime ^ maphash.String(c.seed, s.Stream)
	return h*prime ^ maphash.String(c.seed, s.Tenant)
}

// get returns the names of a series, which are empty at first.
func (c *cache) get(s varve.Series) *names {
	h := c.hash(s)
	p := &c.parts[h%parts]
	p.mu.Lock()
	defer p.mu.Unlock()
	n, young := p.young[h]
	if !young {
		n = p.aged[h]
	}
	if n == nil || n.series != s { // if two series have the same hash, the later one is remembered
		n = &names{series: varve.Series{Tenant: strings.Clone(s.Tenant), Stream: strings.Clone(s.Stream), Device: strings.Clone(s.Device)}}
	}
	room := max(n.room.Load(), 8)
	if young && room == n.counted {
		return n
	}
	if !young {
		n.counted = 0
		p.bytes += seriesBytes + len(s.Device)
	}
	p.bytes += 8 * int(room-n.counted)
	n.counted = room
	if p.young == nil || p.bytes > partBytes {
		n.counted = 0
		p.young, p.aged, p.bytes = map[uint64]*names{}, p.young, 0
	}
	p.young[h] = n
	return n
}

// find returns the names of a series, or nil if it is not remembered.
func (c *cache) find(s varve.Series) *names {
	h := c.hash(s)
	p := &c.parts[h%parts]
	p.mu.Lock()
	defer p.mu.Unlock()
	n, young := p.young[h]
	if !young {
		n = p.aged[h]
	}
	if n == nil || n.series != s {
		return nil
	}
	return n
}
