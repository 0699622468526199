package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// isDamage reports whether an error is caused by data that is lost, fails its checksum or cannot be
// decoded.
func isDamage(err error) bool {
	return err != nil && (errors.Is(err, store.ErrDamaged) || pebble.IsCorruptionError(err) || errors.Is(err, chunk.ErrDamaged))
}

// damaged converts an error caused by damage into a DamageError for a series in a table. It returns other
// errors unchanged, and also an error that contains a DamageError with a table.
func damaged(err error, t grid.Table, series varve.Series) error {
	var known *store.DamageError
	if !isDamage(err) || errors.As(err, &known) && known.Table != "" {
		return err
	}
	d := &store.DamageError{Table: t.Name(), Series: series, Err: err}
	if known != nil {
		d.From, d.To, d.File = known.From, known.To, known.File
	}
	return d
}

// damagedItem converts an error caused by damage into a DamageError for the registry. It returns other
// errors unchanged, and also an error that contains a DamageError already.
func damagedItem(err error) error {
	var known *store.DamageError
	if !isDamage(err) || errors.As(err, &known) {
		return err
	}
	return &store.DamageError{Err: err}
}

// err returns the DamageError for keys in a lost range. For a nil range, it returns nil.
func (l *lost) err() error {
	if l == nil {
		return nil
	}
	from, to := l.times(time.Time{})
	return &store.DamageError{From: from, To: to, File: l.File, Err: errors.New(l.Reason)}
}

// times returns the event times of a range within level 1 of one series. For other ranges, it
// returns zero times. If the range ends with a lost chunk, whose last reading is not known, the range
// of times ends at "end".
func (l *lost) times(end time.Time) (from, to time.Time) {
	a, ok1 := parseChunkKey(l.From)
	b, ok2 := parseChunkKey(l.To)
	if !ok1 || !ok2 || a.series != b.series || a.number != b.number || a.level != level1 || b.level != level1 {
		return time.Time{}, time.Time{}
	}
	if b.isNext {
		return time.Unix(0, a.first).UTC(), end
	}
	return time.Unix(0, a.first).UTC(), time.Unix(0, b.first).UTC()
}

type chunkKey struct {
	number uint32
	series varve.Series
	level  byte
	first  int64 // event time of its first reading, in ns since 1970
	isNext bool  // whether the key is the first key after the key of a chunk
}

// parseChunkKey parses the key of a chunk, or the first key after the key of a chunk.
func parseChunkKey(key []byte) (k chunkKey, ok bool) {
	if len(key) < 5+3+chunkKeySuffix || key[0] != spaceChunk {
		return k, false
	}
	// The prefix of the series ends with its third zero byte. The suffix has a fixed length, and the
	// first key after a chunk's key has one byte more.
	end := 5
	for range 3 {
		i := bytes.IndexByte(key[end:], 0)
		if i < 0 {
			return k, false
		}
		end += i + 1
	}
	if len(key) < end+chunkKeySuffix || len(key) > end+chunkKeySuffix+1 {
		return k, false
	}
	series, err := seriesOf(key[:end+chunkKeySuffix])
	if err != nil {
		return k, false
	}
	return chunkKey{
		number: binary.BigEndian.Uint32(key[1:]), series: series, level: key[end],
		first: int64(binary.BigEndian.Uint64(key[end+1:])), isNext: len(key) > end+chunkKeySuffix,
	}, true
}
