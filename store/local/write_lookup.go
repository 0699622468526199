package local

import (
	"errors"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// searchChunk sets the verdict on the reading if the chunk has it. It compares values only if the
// sender chose the reading's id, because equal content ids imply equal values.
func (l *lookup) searchChunk(c *chunk.Chunk) {
	if l.inChunk.Outcome != 0 {
		return
	}
	i, found := findPosition(c, l.reading.Position())
	switch {
	case !found:
	case !l.ownID:
		l.inChunk = varve.Verdict{Outcome: varve.Duplicate}
	default:
		var stored varve.Reading
		_ = c.Fill(i, &stored, new(chunk.Arena)) // Fill of a decoded chunk cannot fail
		l.inChunk = store.Repeat(l.reading, &stored)
	}
}

// compareMet sets the verdicts on readings whose sender chose the id, and whose identity is in a series
// buffer.
func (w *pendingWrite) compareMet() error {
	var arena chunk.Arena
	for _, m := range w.met {
		var stored varve.Reading
		if err := m.stored.Fill(0, &stored, &arena); err != nil {
			return fmt.Errorf("compare a reading with the stored one: %w", err)
		}
		*m.verdict = store.Repeat(m.reading, &stored)
	}
	return nil
}

// lookUpLate searches chunks for the readings in w.late, series by series.
func (w *pendingWrite) lookUpLate() (err error) {
	cr, err := newChunkReader(w.mem.db)
	if err != nil {
		return err
	}
	defer func() {
		// Ignore damage from Close: it was returned before, and the affected readings were rejected.
		if closed := cr.iter.Close(); !isDamage(closed) {
			err = errors.Join(err, closed)
		}
	}()
	slices.SortFunc(w.late, func(a, b *lookup) int {
		if x, y := a.group.buffer, b.group.buffer; x != y {
			if c := x.table.Table.Compare(y.table.Table); c != 0 {
				return c
			}
			return x.Series.Compare(y.Series)
		}
		return a.reading.Time.Compare(b.reading.Time)
	})
	for from := 0; from < len(w.late); {
		to := from + 1
		for to < len(w.late) && w.late[to].group.buffer == w.late[from].group.buffer {
			to++
		}
		if err := w.lookUpSeries(cr, w.late[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// lookUpSeries looks up readings of one series buffer, in the order of their event times.
func (w *pendingWrite) lookUpSeries(cr *chunkReader, late []*lookup) error {
	b := late[0].group.buffer
	cr.selectSeries(b.table, b.Series)
	if err := w.mem.loadMaxFlushed(cr, b, late[0].group.epoch); err != nil && !isDamage(err) {
		return err // damage is tolerated: without maxFlushed, every reading is looked up in chunks
	}
	first, last := late[0].reading.Time.UnixNano(), late[len(late)-1].reading.Time.UnixNano()
	if err := cr.loadLevel0(first, last); err != nil {
		return rejectLate(late, err)
	}
	for from := 0; from < len(late); {
		to := from + 1
		for to < len(late) && late[to].reading.Time.Equal(late[from].reading.Time) {
			to++
		}
		if to-from > 1 || !cr.lookUpSingle(late[from]) {
			sortByID(late[from:to])
			if err := rejectLate(late[from:to], cr.lookUp(late[from:to])); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// sortByID sorts lookups of one event time by id. It computes the content ids.
func sortByID(late []*lookup) {
	for _, l := range late {
		memtable.SetID(l.reading)
	}
	slices.SortFunc(late, func(a, b *lookup) int { return a.reading.ID.Compare(b.reading.ID) })
}

// rejectLate rejects readings that may be duplicates of lost ones, if err is damage. It returns all
// other errors.
func rejectLate(late []*lookup, err error) error {
	if !isDamage(err) {
		return err
	}
	for _, l := range late {
		l.inChunk = varve.Reject(varve.CodeDamaged, "%s", damaged(err, l.group.table.Table, l.reading.Series))
	}
	return nil
}
