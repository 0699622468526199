package memtable

import (
	"strings"
	"sync/atomic"

	"github.com/varvedb/varve"
)

// Memtable holds the readings of many series that are in the journal and not yet in chunks. It consists
// of shards, which goroutines fill at the same time. The rows of each series are in its series buffer.
type Memtable struct {
	Parity  int    // 0 or 1, and alternates from one memtable to the next
	Segment uint64 // if the memtable is immutable, the last journal segment with its readings
	Shards  []*Shard
}

// New returns an empty memtable.
func New(parity, shards int, c Caching) *Memtable {
	m := &Memtable{Parity: parity, Shards: make([]*Shard, shards)}
	cache := &Cache{Caching: c}
	for i := range m.Shards {
		m.Shards[i] = &Shard{Content: Content{bodies: newBodies(shards)}, shapeIDs: map[string]uint32{}, cache: cache}
	}
	return m
}

const (
	// maxRepetition is the maximum size of the fields' names in chunks, relative to the limit of a
	// memtable.
	maxRepetition = 4
	// maxRepeated is the maximum size of the fields' names in chunks, whatever the limit. Pebble
	// panics at a batch of 4 GiB. After a crash, one batch has two memtables, each with up to 1.1 GiB
	// of readings: see local.MaxMemtableBytes.
	maxRepeated = 256 << 20
	// columnBytes is the approximate size of a field in a chunk, without its name and values.
	columnBytes = 8
)

// IsFull reports whether the memtable reached a limit in bytes, or its chunks would repeat too many
// field names. It needs no lock.
func (m *Memtable) IsFull(limit int64) bool {
	bytes, repeated := int64(0), int64(0)
	for _, s := range m.Shards {
		bytes += s.bytes.Load()
		repeated += s.repeated.Load()
	}
	return bytes >= limit || repeated >= min(maxRepetition*limit, maxRepeated)
}

// Readings returns the number of readings. It needs no lock.
func (m *Memtable) Readings() (n int64) {
	for _, s := range m.Shards {
		n += s.readings.Load()
	}
	return n
}

// Bytes returns the approximate memory use, which includes the rows and the series buffers. It needs no
// lock.
func (m *Memtable) Bytes() (n int64) {
	for _, s := range m.Shards {
		n += s.bytes.Load()
	}
	return n
}

// Shard holds the readings of a share of all series in a memtable. A lock of the store guards the shard
// and its series buffers.
type Shard struct {
	Content
	readings atomic.Int64
	bytes    atomic.Int64
	// repeated is the approximate size of the fields in its chunks, without the values. It can be a
	// multiple of "bytes", because each chunk repeats the names.
	repeated  atomic.Int64
	nameSizes []int // size of the fields of each shape in a chunk, without the values, in bytes
	shapeIDs  map[string]uint32
	cache     *Cache // the cache of all shards
}

// Count adds to the number of readings and to the memory use in bytes.
func (m *Shard) Count(readings int, bytes int64) {
	m.readings.Add(int64(readings))
	m.bytes.Add(bytes)
}

// Entry is a new reading, encoded for a memtable and the journal.
type Entry struct {
	Time  int64  // ns since 1970
	From  uint32 // offset of its body among the bodies of the write
	To    uint32
	OwnID bool // whether its id differs from its content id
}

// Encode appends the body of a reading, and returns its entry. The base is the start of the
// table's arrival month in ms.
func Encode(bodies []byte, r *varve.Reading, base int64) ([]byte, Entry) {
	from := len(bodies)
	bodies = appendBody(bodies, r, base)
	return bodies, Entry{
		Time: r.Time.UnixNano(), From: uint32(from), To: uint32(len(bodies)), OwnID: HasOwnID(bodies[from:]),
	}
}

// BufferBytes is the approximate size of a series buffer without its rows, in bytes.
const BufferBytes = 300

// Size returns the approximate memory of n entries, in bytes. Their bodies have the given total
// size.
func Size(n, bodies int) int64 { return int64(n*rowBytes + bodies) }

// Append adds entries after all rows of a series. Their bodies are in "bodies", one after another.
func (m *Shard) Append(rows *Rows, entries []Entry, shape uint32, bodies []byte) {
	m.countNames(rows, shape)
	for len(entries) > 0 {
		var some [64]Row
		n := m.countFitting(entries[:min(len(entries), len(some))])
		size := entries[n-1].To - entries[0].From
		begin := m.bodies.append(bodies[:size]) - entries[0].From
		for i := range n {
			some[i] = Row{Time: entries[i].Time, at: begin + entries[i].From, shape: shape}
		}
		rows.append(some[:n])
		entries, bodies = entries[n:], bodies[size:]
	}
}

// countFitting returns the number of leading entries whose bodies fit into the current page, and at
// least 1.
func (m *Shard) countFitting(entries []Entry) int {
	n, room := len(entries), m.bodies.room()
	for n > 1 && int(entries[n-1].To-entries[0].From) > room {
		n--
	}
	return n
}

// Insert adds an entry at a spot of the rows of a series.
func (m *Shard) Insert(rows *Rows, at Spot, e Entry, shape uint32, body []byte) {
	m.countNames(rows, shape)
	rows.insert(at, Row{Time: e.Time, at: m.bodies.append(body), shape: shape})
}

// countNames counts the field names of a reading, which is about to be added to the rows of a series.
// It skips them if the last row has the same names.
func (m *Shard) countNames(rows *Rows, shape uint32) {
	if last, ok := rows.lastShape(); !ok || last != shape {
		m.repeated.Add(int64(m.nameSizes[shape]))
	}
}

// shapeBytes is the approximate memory of a list of field names without the names. Each name needs
// nameBytes and twice its text.
const (
	shapeBytes = 100
	nameBytes  = 24
)

// Shape returns the index of a reading's field names. New names get a new index. Shape first tries
// "last", the index for the previous reading, because the names are usually equal.
func (m *Shard) Shape(fields []varve.Field, last uint32) uint32 {
	if int(last) < len(m.shapes) && m.HasShape(fields, last) {
		return last
	}
	var key strings.Builder
	for i := range fields {
		key.WriteString(fields[i].Name)
		key.WriteByte(0)
	}
	id, ok := m.shapeIDs[key.String()]
	if !ok {
		names := make([]string, len(fields))
		for i := range fields {
			names[i] = strings.Clone(fields[i].Name)
		}
		id = uint32(len(m.shapes))
		m.shapes = append(m.shapes, names)
		m.nameSizes = append(m.nameSizes, key.Len()+columnBytes*len(names))
		m.shapeIDs[key.String()] = id
		m.bytes.Add(int64(shapeBytes + 2*key.Len() + nameBytes*len(names)))
	}
	return id
}

// HasShape reports whether fields have the field names with the index "shape".
func (c *Content) HasShape(fields []varve.Field, shape uint32) bool {
	names := c.shapes[shape]
	if len(fields) != len(names) {
		return false
	}
	for i := range fields {
		if fields[i].Name != names[i] {
			return false
		}
	}
	return true
}
