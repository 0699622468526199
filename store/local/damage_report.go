package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Loss is data that damage may have destroyed. A lost range of keys is refused until it is accepted.
//
// The data consists of readings of some series of a table, of items, or of entries of the catalog.
type Loss struct {
	Table       string       // name of the table; empty if the name is lost, or for Items and Catalog
	Number      uint32       // the number of the table; 0 for Items and Catalog
	First, Last varve.Series // the first and last series; if one is zero, the range has no limit at this end
	From, To    time.Time    // the range of event times; zero if unknown
	Items       bool         // whether items of the registry or their index entries are lost
	FirstItem   store.Key    // FirstItem and LastItem are at or next to the ends of the lost range; zero if unknown
	LastItem    store.Key
	Index       bool // whether only index entries are lost, which a repair recreates from the items
	Catalog     bool // whether tables and counters are lost
	File        string
	Found       time.Time
	Reason      string
	Journal     bool   // whether frames of the journal are lost; their series and items are unknown
	Segment     uint64 // number of the segment of the journal; 0 if unknown
	Bytes       int64  // number of damaged bytes in the segment; 0 if unknown
	Harmless    bool   // whether no stored data is lost
	Rebuilt     bool   // whether a rebuild of the database found the loss; then remaining data may be outdated
}

// damageReport describes lost key ranges as losses of tables and items, and checks files.
type damageReport struct {
	db  *database
	mem *memory // has the names of the tables
}

// Losses returns the losses that are not accepted yet.
func (r *damageReport) Losses() []Loss {
	losses := r.describe(r.db.ledger.all())
	if at := r.db.ledger.rebuiltAt(); !at.IsZero() {
		losses = append(losses, Loss{
			Items: true, Catalog: true, Found: at, Rebuilt: true, File: "pebble",
			Reason: "the database was rebuilt without its list of files: items may be older than they were",
		})
	}
	return losses
}

// DamagedFiles returns the number of files that were found damaged since the store was opened.
func (s *Store) DamagedFiles() int { return s.db.watcher.count() }

func (r *damageReport) describe(list []lost) []Loss {
	var losses []Loss
	for i := range list {
		losses = append(losses, r.describeOne(&list[i])...)
	}
	return losses
}

func (r *damageReport) describeOne(l *lost) []Loss {
	base := Loss{File: l.File, Found: l.Found, Reason: l.Reason, Rebuilt: l.Rebuilt}
	var losses []Loss
	items := base
	items.Items = true
	items.FirstItem, items.LastItem = itemOf(l.From), itemOf(l.To)
	items.Index = !l.overlapsSpace(spaceItem)
	catalog := base
	catalog.Catalog = true
	if l.overlapsSpace(spaceItem) || l.overlapsSpace(spaceGSI1) || l.overlapsSpace(spaceGSI2) {
		losses = append(losses, items)
	}
	if l.overlapsSpace(spaceTable) || l.overlapsSpace(spaceTables) || l.overlapsSpace(spaceFlushed) {
		losses = append(losses, catalog)
	}
	if l.overlapsSpace(spaceChunk) {
		losses = append(losses, r.describeChunks(l, base)...)
	}
	return losses
}

func (l *lost) overlapsSpace(space byte) bool { return l.overlaps([]byte{space}, []byte{space + 1}) }

func (r *damageReport) describeChunks(l *lost, base Loss) []Loss {
	first, last := tableNumberOf(l.From, 0), tableNumberOf(l.To, ^uint32(0))
	a, inA := parseChunkKey(l.From)
	b, inB := parseChunkKey(l.To)
	var losses []Loss
	add := func(number uint32, name string, end time.Time) {
		loss := base
		loss.Number, loss.Table = number, name
		loss.From, loss.To = l.times(end)
		if inA && a.number == number {
			loss.First = a.series
		}
		if inB && b.number == number {
			loss.Last = b.series
		}
		losses = append(losses, loss)
	}
	r.mem.mu.RLock()
	defer r.mem.mu.RUnlock()
	if r.mem.tables != nil {
		for _, t := range r.mem.tables.sorted {
			if space := chunkSpace(t.number); l.overlaps(space, after(space)) {
				add(t.number, t.name, t.Window().To)
			}
		}
	}
	if len(losses) == 0 && first == last {
		add(first, "", time.Time{})
	}
	return losses
}

// tableNumberOf returns the number of the table in the key of a chunk. If "key" is not the key of a
// chunk, it returns "other".
func tableNumberOf(key []byte, other uint32) uint32 {
	if len(key) < 5 || key[0] != spaceChunk {
		return other
	}
	return binary.BigEndian.Uint32(key[1:])
}

// itemOf parses the key of an item from its key in Pebble. For other keys, it returns the zero key.
func itemOf(key []byte) store.Key {
	if !bytes.HasPrefix(key, []byte{spaceItem}) {
		return store.Key{}
	}
	k, _ := cutKey(key[1:])
	return k
}

func (r *damageReport) reportLosses(report func(Problem)) {
	for _, l := range r.Losses() {
		report(Problem{File: l.File, Err: errors.New(l.Reason), Losses: []Loss{l}})
	}
}
