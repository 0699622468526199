package local

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// table is the state of one table. The lock of memory guards it, and the locks of shards guard its series
// buffers. Changes of record, stats and dropped also need the lock of the catalog.
type table struct {
	grid.Table
	name      string
	number    uint32
	record    tableRecord
	stats     tableStats
	buffers   []map[varve.Series]*seriesBuffer // the series buffers of each shard; nil if it has none
	memtables [2]memtableCount                 // data in the two memtables, indexed by Memtable.Parity
	dropped   bool
}

// memtableCount counts the data of a table in one memtable.
type memtableCount struct{ readings, bytes atomic.Int64 }

// bufferCount returns the number of series buffers.
func (t *table) bufferCount() (n int) {
	for _, buffers := range t.buffers {
		n += len(buffers)
	}
	return n
}

// base returns the start of the arrival month in ms since 1970. Arrivals in rows are relative to it.
func (t *table) base() int64 { return t.Month.Start().UnixMilli() }

// readings returns the number of distinct readings in the table.
func (t *table) readings() int64 {
	return t.stats.readings + t.memtables[0].readings.Load() + t.memtables[1].readings.Load()
}

// cloneSeries copies the names, so that they do not retain larger buffers.
func cloneSeries(s varve.Series) varve.Series {
	return varve.Series{Tenant: strings.Clone(s.Tenant), Stream: strings.Clone(s.Stream), Device: strings.Clone(s.Device)}
}

// tableRecord is the record of a table in Pebble, as JSON. The journal has all changes of the
// record, so a replay restores it.
type tableRecord struct {
	Number  uint32     `json:"number"`
	Tier    store.Tier `json:"tier"`
	Created time.Time  `json:"created"`
	Retired time.Time  `json:"retired,omitzero"`
	Hold    string     `json:"hold,omitempty"`
}

// tableStats counts the data of a table in chunks. It is written with the chunks, and never in
// the journal.
type tableStats struct {
	readings int64
	bytes    int64 // size of the chunks and their keys, before Pebble compresses them
}

func (st tableStats) put(b *pebble.Batch, number uint32) error {
	value := binary.BigEndian.AppendUint64(nil, uint64(st.readings))
	return b.Set(statsKey(number), binary.BigEndian.AppendUint64(value, uint64(st.bytes)), nil)
}

func loadStats(db *pebble.DB, number uint32) (st tableStats, err error) {
	data, err := get(db, statsKey(number))
	if err != nil || data == nil {
		return st, err
	}
	if len(data) != 16 {
		return st, fmt.Errorf("the statistics of table number %d have %d bytes, not 16", number, len(data))
	}
	st.readings = int64(binary.BigEndian.Uint64(data))
	st.bytes = int64(binary.BigEndian.Uint64(data[8:]))
	return st, nil
}

// info returns the properties that decide whether a table may be retired or dropped, and whether its
// readings may be deleted.
func (rec tableRecord) info(t grid.Table) *store.Info {
	return &store.Info{Table: t, Owned: true, Hold: rec.Hold, Retired: rec.Retired}
}

func (rec tableRecord) put(b *pebble.Batch, t grid.Table) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return b.Set(tableKey(t), data, nil)
}

type tables struct {
	byName map[grid.Table]*table
	byNum  map[uint32]*table
	sorted []*table
}

func newTables() *tables {
	return &tables{byName: map[grid.Table]*table{}, byNum: map[uint32]*table{}}
}

func (ts *tables) add(t *table) {
	ts.byName[t.Table] = t
	ts.byNum[t.number] = t
	at, _ := ts.place(t.Table)
	ts.sorted = slices.Insert(ts.sorted, at, t)
}

func (ts *tables) remove(t *table) {
	delete(ts.byName, t.Table)
	delete(ts.byNum, t.number)
	at, _ := ts.place(t.Table)
	ts.sorted = slices.Delete(ts.sorted, at, at+1)
}

func (ts *tables) place(t grid.Table) (int, bool) {
	return slices.BinarySearchFunc(ts.sorted, t, func(a *table, b grid.Table) int { return a.Table.Compare(b) })
}

func loadTables(db *pebble.DB, shards int) (ts *tables, err error) {
	ts = newTables()
	space := []byte{spaceTable}
	iter, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return nil, err
	}
	defer func() { err = closing(err, iter) }()
	for ok := iter.First(); ok; ok = iter.Next() {
		name := string(iter.Key()[1:])
		parsed, ok := grid.Parse(name)
		if !ok {
			return nil, fmt.Errorf("the catalog has a table %q, which is not a valid name", name)
		}
		t := newTable(parsed, shards)
		if err := json.Unmarshal(iter.Value(), &t.record); err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		t.number = t.record.Number
		if t.stats, err = loadStats(db, t.number); err != nil {
			return nil, err
		}
		ts.add(t)
	}
	return ts, iter.Error()
}

func newTable(t grid.Table, shards int) *table {
	return &table{Table: t, name: t.Name(), buffers: make([]map[varve.Series]*seriesBuffer, shards)}
}

// loadCounters returns the numbers of the next table and of the last chunk.
func loadCounters(db *pebble.DB) (table uint32, chunk uint64, err error) {
	data, err := get(db, keyNextTable)
	if err != nil {
		return 0, 0, err
	}
	if table = 1; data != nil {
		if len(data) != 4 {
			return 0, 0, fmt.Errorf("the number of the next table has %d bytes, not 4", len(data))
		}
		table = binary.BigEndian.Uint32(data)
	}
	if data, err = get(db, keyLastChunk); err != nil {
		return 0, 0, err
	}
	if chunk = 1; data != nil {
		if len(data) != 8 {
			return 0, 0, fmt.Errorf("the number of the last chunk has %d bytes, not 8", len(data))
		}
		chunk = binary.BigEndian.Uint64(data)
	}
	return table, chunk, nil
}

func putGeneration(b *pebble.Batch, generation uint64) error {
	return b.Set(keyGeneration, binary.BigEndian.AppendUint64(nil, generation), nil)
}

func putNextTable(b *pebble.Batch, next uint32) error {
	return b.Set(keyNextTable, binary.BigEndian.AppendUint32(nil, next), nil)
}

func putLastChunk(b *pebble.Batch, next uint64) error {
	return b.Set(keyLastChunk, binary.BigEndian.AppendUint64(nil, next), nil)
}
