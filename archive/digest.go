package archive

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
)

type hasher struct{ buf [24 + varve.MaxIDBytes]byte }

// hash returns the XXH64 hash of a reading. It covers three numbers of 8 bytes, little-endian: event
// time in nanoseconds, arrival in milliseconds, and content id. If the reading has an id of its own, the
// key of that id follows.
func (h *hasher) hash(at, arrived int64, content uint64, own varve.ID) uint64 {
	binary.LittleEndian.PutUint64(h.buf[0:], uint64(at))
	binary.LittleEndian.PutUint64(h.buf[8:], uint64(arrived))
	binary.LittleEndian.PutUint64(h.buf[16:], content)
	return xxhash.Sum64(own.AppendKey(h.buf[:24]))
}

const dayNanos = 24 * 60 * 60 * 1e9

// tally counts sorted readings, and passes the count of each series and day to t.emit.
// It fails if readings are not in strictly ascending order, so it counts each reading once.
type tally struct {
	emit   func(parquetfile.DayDigest) error
	total  Totals
	tables *tableCounts // counts for each table; nil if they are not needed

	day    parquetfile.DayDigest
	last   varve.Position
	begun  bool
	forms  block.Forms
	hasher hasher
}

// Totals counts the readings of a table.
type Totals struct {
	Readings int64
	Series   int64
	Digest   uint64 // sum of the hashes of all readings, modulo 2^64
}

// addPart counts readings that are stored as columns, in ascending order.
func (t *tally) addPart(p *block.Part) error {
	if p.Len() == 0 {
		return nil
	}
	if err := t.beginSeries(p.Series); err != nil {
		return err
	}
	t.forms.Reset(p.Block)
	ids := t.forms.IDs(p, 0, p.Len())
	for k, id := range ids {
		row := p.Row(k)
		own, has := p.OwnID(row)
		content, _ := id.Hash()
		if has {
			var r varve.Reading
			p.Fill(row, &r)
			content, _ = r.ContentID().Hash()
		}
		if err := t.count(varve.Position{Time: p.Times[row], ID: id}, p.Arrived[row], content, own); err != nil {
			return err
		}
	}
	return nil
}

func (t *tally) addReading(r *varve.Reading) error {
	if err := t.beginSeries(r.Series); err != nil {
		return err
	}
	content := r.ContentID()
	own := r.ID
	if r.ID == content {
		own = varve.ID{}
	}
	hash, _ := content.Hash()
	return t.count(r.Position(), r.Arrived.UnixMilli(), hash, own)
}

// beginSeries ends the current series and begins the next one, unless they are the same. It fails
// if the next series does not sort after the current one.
func (t *tally) beginSeries(s varve.Series) error {
	if t.begun && t.day.Series == s {
		return nil
	}
	if t.begun && t.day.Series.Compare(s) >= 0 {
		return fmt.Errorf("series %s follows %s", s, t.day.Series)
	}
	if err := t.endDay(); err != nil {
		return err
	}
	t.begun, t.last = true, varve.Position{Time: -1}
	t.day = parquetfile.DayDigest{Series: s}
	t.total.Series++
	t.tables.beginSeries()
	return nil
}

func (t *tally) count(at varve.Position, arrived int64, content uint64, own varve.ID) error {
	if at.Time < t.last.Time || at.Time == t.last.Time && at.Compare(t.last) <= 0 {
		return fmt.Errorf("series %s: reading %d %s is not after %d %s", t.day.Series, at.Time, at.ID, t.last.Time, t.last.ID)
	}
	t.last = at
	if day := int32(at.Time / dayNanos); day != t.day.Day {
		if err := t.endDay(); err != nil {
			return err
		}
		t.day.Day = day
	}
	hash := t.hasher.hash(at.Time, arrived, content, own)
	t.day.Readings++
	t.day.Digest += hash
	t.total.Readings++
	t.total.Digest += hash
	return t.tables.add(at.Time, hash)
}

// endDay passes the count of the current day to t.emit.
func (t *tally) endDay() error {
	if t.day.Readings == 0 {
		return nil
	}
	err := t.emit(t.day)
	t.day.Readings, t.day.Digest = 0, 0
	return err
}

// end passes the count of the last day to t.emit, and returns the totals.
func (t *tally) end() (Totals, error) {
	err := t.endDay()
	return t.total, err
}
