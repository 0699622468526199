package local

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// These functions check lost ranges after the creation of an iterator. A range is recorded
// before its file is replaced. So either the iterator reads the damaged file, or the range is in
// the list.

// intact returns a DamageError if chunks with from <= key < to may be lost. The fields lenient and lost
// change that.
func (cr *chunkReader) intact(from, to []byte) error {
	if cr.lenient {
		return nil
	}
	if cr.lost != nil {
		cr.db.ledger.each(from, to, cr.lost)
		return nil
	}
	return cr.db.ledger.find(from, to).err()
}

// skipLost returns a function that reports lost ranges of a series as damaged rows. If damaged is nil, it
// returns nil.
func skipLost(damaged func(*store.DamagedRow), t grid.Table, series varve.Series) func(*lost) {
	if damaged == nil {
		return nil
	}
	return func(l *lost) {
		row := store.DamagedRow{Table: t.Name(), Series: series.String(), Problem: "readings may be lost: the operator can see them with varve verify"}
		if from, to := l.times(t.Window().To); !from.IsZero() {
			row.TS = from.Format(time.RFC3339Nano) + "/" + to.Format(time.RFC3339Nano)
		}
		damaged(&row)
	}
}

func (cr *chunkReader) level1Start() []byte { return appendChunkKey(nil, cr.prefix, level1, 0, 0) }

// reportBroken reports the current chunk to the watcher if err means that it cannot be decoded. It
// returns err.
func (cr *chunkReader) reportBroken(err error) error {
	if errors.Is(err, chunk.ErrDamaged) {
		cr.db.watcher.addChunk(slices.Clone(cr.iter.Key()), err)
	}
	return err
}

// intactBetween returns a DamageError if chunks of level 1 may be lost between the previous chunk
// and the current one. If ok is false, no current chunk exists. Then the check extends to the end of the
// span or, in descending order, to the first key of level 1. The key *seen is the one up to which level 1
// was checked. intactBetween moves it to the current chunk.
func (cr *chunkReader) intactBetween(seen *[]byte, ok bool, sp *span) error {
	from, to := *seen, *seen
	switch {
	case ok && sp.desc:
		from = slices.Clone(cr.iter.Key())
		*seen = from
	case ok:
		to = next(cr.iter.Key())
		*seen = to
		// Chunks after the span are not needed, so the check ends where the span ends.
		if end := cr.spanEnd(sp); bytes.Compare(end, to) < 0 {
			to = end
		}
	case sp.desc:
		from = cr.level1Start()
	default:
		to = cr.spanEnd(sp)
	}
	if bytes.Compare(from, to) >= 0 {
		return nil
	}
	return cr.intact(from, to)
}

// isBefore reports whether a chunk of level 1 begins before a time.
func (cr *chunkReader) isBefore(key []byte, at int64) bool {
	return bytes.Compare(key, appendChunkKey(nil, cr.prefix, level1, at, 0)) < 0
}

// spanEnd returns the first key of level 1 after all chunks that begin in the span.
func (cr *chunkReader) spanEnd(sp *span) []byte {
	return next(appendChunkKey(nil, cr.prefix, level1, sp.last, ^uint64(0)))
}
