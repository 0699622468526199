package local

import (
	"errors"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// replayReadings restores the readings of a record in their series buffers. It skips readings of
// dropped tables. It is called before any other use of the store.
func (s *Store) replayReadings(payload []byte) (err error) {
	var of *memtable.Source
	var t *tail // nil for a dropped table
	var arena chunk.Arena
	return memtable.Decode(payload, func(r memtable.Recorded) error {
		if r.Source != of {
			of, t = r.Source, nil
			if tb, ok := s.tables.byNum[of.Table]; ok {
				t = s.makeTail(tb, of.Series)
			}
		}
		if t == nil {
			return nil
		}
		return s.replayReading(t, &r, &arena)
	})
}

// replayReading restores a reading in its series buffer, unless it is stored already.
func (s *Store) replayReading(t *tail, rec *memtable.Recorded, arena *chunk.Arena) error {
	r := varve.Reading{Series: t.Series, Time: time.Unix(0, rec.Time)}
	if err := memtable.ReadBody(rec.Body, t.table.base(), rec.Names, &r, arena); err != nil {
		return err
	}
	place, found := t.rows[s.active.Parity].FindReading(&s.active.Content, &r)
	if !found && s.flushedLost {
		memtable.SetID(&r)
		err := s.afterDamage(func() (err error) {
			found, err = s.inChunks(t, &r)
			return err
		})
		if err != nil && !isDamage(err) {
			return err
		} // a copy of damaged data is harmless
	}
	if !found {
		s.insert(t, place, memtable.Entry{Time: rec.Time}, s.active.Shape(r.Fields, 0), rec.Body)
	}
	return nil
}

// inChunks reports whether chunks have a reading, including lost ranges.
func (s *Store) inChunks(t *tail, r *varve.Reading) (found bool, err error) {
	f, err := newFinder(s)
	if err != nil {
		return false, err
	}
	defer func() {
		if closed := f.iter.Close(); !isDamage(closed) {
			err = errors.Join(err, closed)
		}
	}()
	f.lenient = true
	f.turn(t.table, t.Series)
	at := r.Time.UnixNano()
	l := lookup{reading: r}
	if err = f.load(at, at); err == nil {
		err = f.ask([]*lookup{&l})
	}
	return l.inChunk.Outcome != 0, err
}
