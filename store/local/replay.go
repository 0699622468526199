package local

import (
	"errors"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// replayReadings restores the readings of a journal record in their series buffers. It skips
// readings of dropped tables. It is called before any other use of the store.
func (rc *recovery) replayReadings(payload []byte) (err error) {
	var of *memtable.Source
	var b *seriesBuffer // nil for a dropped table
	var arena chunk.Arena
	return memtable.Decode(payload, func(r memtable.Recorded) error {
		if r.Source != of {
			of, b = r.Source, nil
			if tb, ok := rc.mem.tables.byNum[of.Table]; ok {
				b = rc.mem.makeBuffer(tb, rc.mem.mu.indexOf(of.Series), of.Series)
			}
		}
		if b == nil {
			return nil
		}
		return rc.replayReading(b, &r, &arena)
	})
}

// replayReading restores a reading in its series buffer, unless it is stored already.
func (rc *recovery) replayReading(b *seriesBuffer, rec *memtable.Recorded, arena *chunk.Arena) error {
	r := varve.Reading{Series: b.Series, Time: time.Unix(0, rec.Time)}
	if err := memtable.ReadBody(rec.Body, b.table.base(), rec.Names, &r, arena); err != nil {
		return err
	}
	mt := rc.mem.mutable.Shards[b.shard]
	place, found := b.rows[rc.mem.mutable.Parity].FindReading(&mt.Content, &r)
	if !found && rc.flushedLost {
		memtable.SetID(&r)
		err := rc.catalog.quarantine.retryAfterDamage(func() (err error) {
			found, err = rc.inChunks(b, &r)
			return err
		})
		if err != nil && !isDamage(err) {
			return err
		} // a second copy of a damaged reading is harmless
	}
	if !found {
		rc.mem.insertEntry(b, place, memtable.Entry{Time: rec.Time}, mt.Shape(r.Fields, 0), rec.Body)
	}
	return nil
}

// inChunks reports whether chunks have a reading. It includes the remaining chunks of lost ranges.
func (rc *recovery) inChunks(b *seriesBuffer, r *varve.Reading) (found bool, err error) {
	cr, err := newChunkReader(rc.db)
	if err != nil {
		return false, err
	}
	defer func() {
		if closed := cr.iter.Close(); !isDamage(closed) {
			err = errors.Join(err, closed)
		}
	}()
	cr.lenient = true
	cr.selectSeries(b.table, b.Series)
	at := r.Time.UnixNano()
	l := lookup{reading: r}
	if err = cr.loadLevel0(at, at); err == nil {
		err = cr.lookUp([]*lookup{&l})
	}
	return l.inChunk.Outcome != 0, err
}
