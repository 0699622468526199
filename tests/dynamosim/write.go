package dynamosim

import (
	"bytes"
	"time"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
	"github.com/varvedb/varve/tests/dynamosim/expr"
	"github.com/varvedb/varve/tests/dynamosim/value"
)

// write is a put, an update or a deletion of an item.
type write struct {
	table     *table
	at        primary
	key       value.Item
	condition expr.Condition
	showItem  bool         // whether the error of a failed condition includes the stored item
	needsOld  bool         // whether the answer needs the item from before the write
	put       value.Item   // the new item, for a put
	update    *expr.Update // the parsed expression, for an update
	deletes   bool
}

type written struct {
	oldItem, newItem value.Item // items before and after the write, or nil; oldItem is only set if it is needed
	units            float64    // write units that the table consumes
	indexUnits       []float64  // write units that each index consumes
}

func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

func (w *write) apply(now time.Time) (res written, err error) {
	t := w.table
	if err := t.units.admit(now, capacity.Write, w.at.hash); err != nil {
		return res, err
	}
	s := t.data.shardOf(w.at.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.find(w.at.key, w.at.at)
	if stored != nil && (w.condition != nil || w.update != nil || w.needsOld) {
		if res.oldItem, err = value.ParseItem(stored.data); err != nil {
			return res, err
		}
	}
	oldSize := 0
	if stored != nil {
		oldSize = stored.size
	}
	if w.condition != nil && !w.condition.Holds(res.oldItem) {
		t.units.consume(now, capacity.Write, w.at.hash, writeUnits(oldSize))
		return res, w.refusal(stored)
	}
	if res.newItem, err = w.next(res.oldItem); err != nil {
		return res, err
	}
	fresh, err := t.recordOf(res.newItem)
	if err != nil {
		return res, err
	}
	if res.indexUnits, err = t.admitIndexes(now, stored, fresh); err != nil {
		return res, err
	}
	if fresh == nil {
		s.remove(w.at.key, w.at.at)
		res.units = writeUnits(oldSize)
	} else {
		s.put(w.at.key, w.at.hash, w.at.at, fresh)
		res.units = writeUnits(max(oldSize, fresh.size))
	}
	t.count(stored, fresh)
	t.writeIndexes(now, stored, fresh, res.indexUnits)
	t.units.consume(now, capacity.Write, w.at.hash, res.units)
	return res, nil
}

// refusal returns the error for a failed condition.
func (w *write) refusal(stored *record) error {
	if stored == nil || !w.showItem {
		return conditionFailed(nil)
	}
	return conditionFailed(stored.data)
}

// next returns the item after the write, or nil if the item is deleted.
func (w *write) next(old value.Item) (value.Item, error) {
	switch {
	case w.deletes:
		return nil, nil
	case w.put != nil:
		return w.put, nil
	}
	if old == nil {
		old = w.key
	}
	if w.update == nil {
		return old.Clone(), nil
	}
	it, err := w.update.Apply(old)
	if err != nil {
		return nil, err
	}
	return it, w.table.checkIndexKeys(it)
}

// recordOf returns the record of an item with its views. It returns nil if the item is nil.
func (t *table) recordOf(it value.Item) (*record, error) {
	if it == nil {
		return nil, nil
	}
	r := &record{size: it.Size()}
	if r.size > maxItem {
		return nil, invalid("Item size has exceeded the maximum allowed size")
	}
	r.data = it.JSON()
	if len(t.indexes) > 0 {
		r.views = make([]view, len(t.indexes))
		for i, ix := range t.indexes {
			r.views[i] = ix.view(t, it, r)
		}
	}
	return r, nil
}

// count changes the number of items and bytes of a table after a write.
func (t *table) count(old, fresh *record) {
	if old != nil {
		t.items.Add(-1)
		t.bytes.Add(int64(-old.size))
	}
	if fresh != nil {
		t.items.Add(1)
		t.bytes.Add(int64(fresh.size))
	}
}

// viewsOf returns the views of a record in an index before and after a write.
func viewsOf(i int, old, fresh *record) (before, after view) {
	if old != nil {
		before = old.views[i]
	}
	if fresh != nil {
		after = fresh.views[i]
	}
	return before, after
}

// isMoved reports whether a write changed the keys of an item in an index.
func isMoved(before, after *view) bool {
	return before.record != nil && after.record != nil && (before.hash != after.hash || before.sortKey != after.sortKey)
}

// indexUnits returns the write units that an index needs. If the write moves the item within the index,
// the index deletes the old entry and inserts the new one. If no projected attribute changes, the index
// needs no units.
func indexUnits(before, after *view) float64 {
	switch {
	case before.record == nil && after.record == nil:
		return 0
	case before.record == nil:
		return writeUnits(after.record.size)
	case after.record == nil:
		return writeUnits(before.record.size)
	case isMoved(before, after):
		return writeUnits(before.record.size) + writeUnits(after.record.size)
	case bytes.Equal(before.record.data, after.record.data):
		return 0
	default:
		return writeUnits(max(before.record.size, after.record.size))
	}
}

// admitIndexes returns the write units of each index. It fails if an index throttles the write.
func (t *table) admitIndexes(now time.Time, old, fresh *record) ([]float64, error) {
	if len(t.indexes) == 0 {
		return nil, nil
	}
	units := make([]float64, len(t.indexes))
	for i, ix := range t.indexes {
		before, after := viewsOf(i, old, fresh)
		if units[i] = indexUnits(&before, &after); units[i] == 0 {
			continue
		}
		if err := ix.units.admit(now, capacity.Write, ix.hashOfWrite(&before, &after)); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// hashOfWrite returns the hash of the partition key that an index has for the item after the write. If
// the write removes the item from the index, the hash is for the key from before the write.
func (*index) hashOfWrite(before, after *view) uint64 {
	if after.record != nil {
		return hashOf(after.hash)
	}
	return hashOf(before.hash)
}

func (t *table) writeIndexes(now time.Time, old, fresh *record, units []float64) {
	for i, ix := range t.indexes {
		before, after := viewsOf(i, old, fresh)
		if before.record != nil && (after.record == nil || isMoved(&before, &after)) {
			s := ix.data.shardOf(hashOf(before.hash))
			s.mu.Lock()
			s.remove(before.hash, before.sortKey)
			s.mu.Unlock()
		}
		if after.record != nil {
			hash := hashOf(after.hash)
			s := ix.data.shardOf(hash)
			s.mu.Lock()
			s.put(after.hash, hash, after.sortKey, after.record)
			s.mu.Unlock()
		}
		if units[i] > 0 {
			ix.units.consume(now, capacity.Write, ix.hashOfWrite(&before, &after), units[i])
		}
	}
}
