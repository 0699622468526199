// Package fields bounds the number of different fields of a series.
//
// Roll-ups, which never expire, and the columns of CSV grow with each field.
//
//	Admit ──▶ names in memory ──▶ item of the series, if it has many names ──▶ verdicts
//
// A [Registry] remembers the field names of recently written series, as hashes. The names of a
// series with many fields are also stored, in one item for each series. A process reads the item
// once while it remembers the series, and again if another process has changed it. It writes the
// item when names are added. [Registry.Forget] removes the names of a series whose item was
// deleted.
//
// These rules always hold:
//
//   - A reading without new names is never rejected because of the limit.
//   - The bound can be exceeded in one way. At most 64 names for each series and process are not
//     stored. Other processes do not know these names, and a process forgets them when it ends or
//     its cache is full.
//   - All other names stay within the limit even if several processes share tables. A process that
//     adds names decides once more if another process has filled the series in the meantime.
//
// If the item of a series cannot be read or written, readings with new names for it are rejected as
// unavailable. Clients may resend them. [Registry.Admit] itself fails only if its context ends. A
// Registry is safe for concurrent use.
package fields

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// DefaultLimit is the default limit of the number of fields of a series. MaxLimit is the highest
// one that can be configured.
const (
	DefaultLimit = 1000
	MaxLimit     = 10_000 // an item of DynamoDB has room for this number of hashes
)

// maxUnrecorded is the maximum number of names of a series that are only in memory.
const maxUnrecorded = 64

// Attributes of a series' item.
const (
	attrNames   = "names"   // hashes of 8 bytes, in ascending order, in base64
	attrVersion = "version" // number that grows with every change of the item
)

// Registry admits readings by their fields. It is safe for concurrent use.
type Registry struct {
	items      store.Items
	limit      int
	unrecorded int // for a series with at most this number of names, a process does not read or write an item
	cache      cache
}

// New returns a registry over items. The argument "limit" is the number of fields that a series may
// have; 0 means DefaultLimit.
func New(items store.Items, limit int) *Registry {
	if limit == 0 {
		limit = DefaultLimit
	}
	return &Registry{items: items, limit: limit, unrecorded: min(maxUnrecorded, limit/4)}
}

// names has the field names of one series, as hashes.
type names struct {
	mu       sync.Mutex
	series   varve.Series
	hashes   []uint64 // sorted
	shape    uint64   // result of shapeOf for the last reading, whose names are all in hashes
	loaded   bool     // whether the item was read or found to be missing
	recorded int      // the number of hashes in the item
	version  int64    // version of the item; 0 means that the item is missing

	room    atomic.Int64 // capacity of the slice hashes
	counted int64        // the part of room that the cache has counted; guarded by the mutex of the cache
}

// Admit rejects readings whose fields exceed the limit of their series, and records new fields.
//
// It considers readings without a verdict, which must be normalized. It fails only if the
// context has ended.
func (r *Registry) Admit(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error {
	var n *names
	var like []varve.Field // fields of the previous reading; shape is their shape
	var shape uint64
	var known bool                // whether all fields of the previous reading were known
	var added map[*names][]int    // indexes of readings with names to be recorded
	var rejected map[*names][]int // indexes of readings with too many names
	for i := range readings {
		if verdicts[i].Outcome != 0 {
			continue
		}
		same := n != nil && n.series == readings[i].Series
		if !same {
			n = r.cache.get(readings[i].Series)
		}
		if !alike(like, readings[i].Fields) {
			like, shape, same = readings[i].Fields, shapeOf(readings[i].Fields), false
		}
		if same && known {
			continue
		}
		v, record := r.admit(ctx, n, readings[i].Fields, shape)
		known = v.Outcome == 0 && !record
		if verdicts[i] = v; record {
			added = appendIndex(added, n, i)
		} else if v.Code == varve.CodeTooManyFields {
			rejected = appendIndex(rejected, n, i)
		}
	}
	for n, which := range added {
		for len(which) > 0 {
			if err := r.record(ctx, n); err != nil {
				for _, i := range which {
					verdicts[i] = unavailable(n.series, err)
				}
				break
			}
			if r.hasAll(n, readings, which) {
				break
			}
			// Other processes had filled the series, so record has removed names. All verdicts that
			// followed from these names are decided once more.
			which = r.readmit(ctx, n, readings, verdicts, append(which, rejected[n]...))
			delete(rejected, n)
		}
	}
	return context.Cause(ctx)
}

// appendIndex appends an index to the list of n in a map, and creates the map if it is nil.
func appendIndex(m map[*names][]int, n *names, i int) map[*names][]int {
	if m == nil {
		m = map[*names][]int{}
	}
	m[n] = append(m[n], i)
	return m
}

func (r *Registry) hasAll(n *names, readings []varve.Reading, which []int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !slices.ContainsFunc(which, func(i int) bool { return len(n.missing(readings[i].Fields)) > 0 })
}

// readmit decides once more on readings, in their order. It returns the indexes of readings with names
// that must be recorded.
func (r *Registry) readmit(ctx context.Context, n *names, readings []varve.Reading, verdicts []varve.Verdict, which []int) (again []int) {
	slices.Sort(which)
	for _, i := range which {
		v, record := r.admit(ctx, n, readings[i].Fields, shapeOf(readings[i].Fields))
		if verdicts[i] = v; record {
			again = append(again, i)
		}
	}
	return again
}

// Forget removes the remembered names of a series after its item was deleted. From then on, only
// the names of later readings count.
func (r *Registry) Forget(s varve.Series) {
	n := r.cache.find(s)
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hashes, n.shape, n.loaded, n.recorded, n.version = nil, 0, false, 0, 0
}

func unavailable(s varve.Series, err error) varve.Verdict {
	return varve.Reject(varve.CodeUnavailable, "record the fields of %s: %s", s.Device, err)
}

// alike reports whether two readings have fields with the same names.
func alike(a, b []varve.Field) bool {
	return slices.EqualFunc(a, b, func(f, g varve.Field) bool { return f.Name == g.Name })
}

// admit adds the fields of a reading to the names of its series. The result "record" reports whether
// names must be written to the item of the series.
func (r *Registry) admit(ctx context.Context, n *names, fields []varve.Field, shape uint64) (v varve.Verdict, record bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if shape == n.shape {
		return v, n.recorded < len(n.hashes) && n.loaded
	}
	fresh := n.missing(fields)
	if total := len(n.hashes) + len(fresh); len(fresh) > 0 && total > r.unrecorded && !n.loaded {
		if err := r.read(ctx, n); err != nil {
			return unavailable(n.series, err), false
		}
		fresh = n.missing(fields)
	}
	if len(n.hashes)+len(fresh) > r.limit && len(fresh) > 0 {
		return varve.Reject(varve.CodeTooManyFields, "device %s has %d different fields in stream %s, and %d is the limit: "+
			"field %q is new; send varying names as values, or raise limits.series_fields",
			n.series.Device, len(n.hashes), n.series.Stream, r.limit, n.firstUnknown(fields)), false
	}
	n.add(fresh)
	n.shape = shape
	return v, n.loaded && n.recorded < len(n.hashes)
}

// shapeOf returns a hash of the names of a reading's fields.
func shapeOf(fields []varve.Field) uint64 {
	const prime = 0x9e3779b185ebca87
	h := uint64(len(fields))
	for i := range fields {
		h = h*prime ^ xxhash.Sum64String(fields[i].Name)
	}
	return h
}

func (n *names) missing(fields []varve.Field) (fresh []uint64) {
	for i := range fields {
		h := xxhash.Sum64String(fields[i].Name)
		if _, ok := slices.BinarySearch(n.hashes, h); !ok {
			fresh = append(fresh, h)
		}
	}
	return fresh
}

func (n *names) firstUnknown(fields []varve.Field) string {
	for i := range fields {
		if _, ok := slices.BinarySearch(n.hashes, xxhash.Sum64String(fields[i].Name)); !ok {
			return fields[i].Name
		}
	}
	return ""
}

func (n *names) add(fresh []uint64) {
	if len(fresh) == 0 {
		return
	}
	n.hashes = append(n.hashes, fresh...)
	slices.Sort(n.hashes)
	n.hashes = slices.Compact(n.hashes)
	n.room.Store(int64(cap(n.hashes)))
}

func (n *names) key() store.Key {
	return store.Key{PK: "FIELDS#" + n.series.Tenant + "/" + n.series.Stream + "/" + n.series.Device, SK: "#NAMES"}
}

// read adds the names in the item of the series. If these and the other names in memory exceed the
// limit together, read removes the other names.
func (r *Registry) read(ctx context.Context, n *names) error {
	items, err := r.items.Get(ctx, []store.Key{n.key()}, true)
	if err != nil {
		return err
	}
	n.loaded, n.recorded, n.version = true, 0, 0
	if len(items) == 0 {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(items[0].Attrs[attrNames].Text())
	if err != nil || len(data)%8 != 0 {
		return fmt.Errorf("the item %s is damaged", n.key().PK)
	}
	version, ok := items[0].Attrs[attrVersion].Int()
	if !ok {
		return fmt.Errorf("the item %s is damaged", n.key().PK)
	}
	var known []uint64
	for ; len(data) > 0; data = data[8:] {
		known = append(known, binary.BigEndian.Uint64(data))
	}
	n.version, n.recorded = version, len(known)
	n.add(known)
	if len(n.hashes) > r.limit && n.recorded < len(n.hashes) {
		n.hashes, n.shape = known, 0
	}
	return nil
}

// record writes the names to the item of the series, merged with the names of other processes.
func (r *Registry) record(ctx context.Context, n *names) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.recorded < len(n.hashes) {
		data := make([]byte, 0, 8*len(n.hashes))
		for _, h := range n.hashes {
			data = binary.BigEndian.AppendUint64(data, h)
		}
		it := store.Item{Key: n.key(), Attrs: map[string]varve.Value{
			attrNames: varve.StringValue(base64.StdEncoding.EncodeToString(data)), attrVersion: varve.IntValue(n.version + 1),
		}}
		cond := store.IfAbsent()
		if n.version > 0 {
			cond = store.IfEquals(attrVersion, varve.IntValue(n.version))
		}
		err := r.items.Put(ctx, it, cond)
		switch {
		case err == nil:
			n.version++
			n.recorded = len(n.hashes)
		case !errors.Is(err, store.ErrCondition):
			return err
		default: // another process added names
			if err := r.read(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}
