package local

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/store"
)

// table is one table. What changes of it is guarded by Store.mu; its record and
// dropped are changed only with Store.catalog locked too.
type table struct {
	bucket.Table
	name    string
	number  uint32
	record  tableRecord
	tails   map[varve.Series]*tail
	heads   [2]headCount
	dropped bool
}

// headCount is what a table has in one head.
type headCount struct{ readings, bytes int64 }

// base is what arrivals in the table's rows count from, in ms.
func (t *table) base() int64 { return t.Month.Start().UnixMilli() }

// readings returns the number of distinct readings in the table.
func (t *table) readings() int64 {
	return t.record.Readings + t.heads[0].readings + t.heads[1].readings
}

// cloneSeries frees names from the buffers that they were cut from.
func cloneSeries(s varve.Series) varve.Series {
	return varve.Series{Tenant: strings.Clone(s.Tenant), Stream: strings.Clone(s.Stream), Device: strings.Clone(s.Device)}
}

// tableRecord is what Pebble holds of a table, as JSON.
type tableRecord struct {
	Number   uint32     `json:"number"`
	Tier     store.Tier `json:"tier"`
	Created  time.Time  `json:"created"`
	Retired  time.Time  `json:"retired,omitzero"`
	Hold     string     `json:"hold,omitempty"`
	Readings int64      `json:"readings"` // in chunks
	Bytes    int64      `json:"bytes"`    // of chunks, before compression
}

// info is what keeping the table is decided by.
func (rec tableRecord) info(t bucket.Table) *store.Info {
	return &store.Info{Table: t, Owned: true, Hold: rec.Hold, Retired: rec.Retired}
}

func (rec tableRecord) put(b *pebble.Batch, t bucket.Table) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return b.Set(tableKey(t), data, nil)
}

// tables is the catalog: all tables by name and in order.
type tables struct {
	byName map[bucket.Table]*table
	byNum  map[uint32]*table
	sorted []*table
}

func newTables() *tables {
	return &tables{byName: map[bucket.Table]*table{}, byNum: map[uint32]*table{}}
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

func (ts *tables) place(t bucket.Table) (int, bool) {
	return slices.BinarySearchFunc(ts.sorted, t, func(a *table, b bucket.Table) int { return a.Table.Compare(b) })
}

// loadTables reads the catalog from Pebble.
func loadTables(db *pebble.DB) (ts *tables, err error) {
	ts = newTables()
	space := []byte{spaceTable}
	iter, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return nil, err
	}
	defer func() { err = closing(err, iter) }()
	for ok := iter.First(); ok; ok = iter.Next() {
		name := string(iter.Key()[1:])
		parsed, ok := bucket.Parse(name)
		if !ok {
			return nil, fmt.Errorf("the catalog has a table %q, which is no table's name", name)
		}
		t := newTable(parsed)
		if err := json.Unmarshal(iter.Value(), &t.record); err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		t.number = t.record.Number
		ts.add(t)
	}
	return ts, iter.Error()
}

func newTable(t bucket.Table) *table {
	return &table{Table: t, name: t.Name(), tails: map[varve.Series]*tail{}}
}

// counters number tables and chunks. They are guarded by Store.catalog.
type counters struct {
	table uint32
	chunk uint64
}

func (c counters) encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, c.table), c.chunk)
}

func loadCounters(db *pebble.DB) (counters, error) {
	data, err := get(db, keyNext)
	if err != nil || data == nil {
		return counters{table: 1, chunk: 1}, err
	}
	if len(data) != 12 {
		return counters{}, fmt.Errorf("the counters have %d bytes, not 12", len(data))
	}
	return counters{table: binary.BigEndian.Uint32(data), chunk: binary.BigEndian.Uint64(data[4:])}, nil
}
