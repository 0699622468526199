package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/journal"
)

// record is a frame of the journal with the new readings of one Write. It is self-contained.
//
//	byte     version
//	groups   uvarint  index of the series among those named so far; if it is
//	                  the next one: table number, tenant, stream, device
//	         uvarint  index of the field names among those named so far; if it
//	                  is the next: their number and texts
//	         uvarint  number of readings
//	         varints  event times, each minus the one before in the record
//	         uvarints lengths of the bodies
//	         bodies
//
// Arrivals in bodies are relative to the table. After the version packedVersion, the groups are
// compressed. In the versions singleVersion and packedSingle, each group is one reading, and
// has no number of readings.
type record struct {
	buf    []byte
	count  uint64 // value of Store.records
	series uint64 // number of series so far
	shapes map[uint32]uint64
	time   int64
	rows   int
	packed []byte // memory of payload
}

const (
	singleVersion = 1
	packedSingle  = 2
	recordVersion = 3
	// packedVersion marks a record that is compressed after its version byte, as a block of S2.
	packedVersion = 4
	// packFrom is the size from which records are compressed. A record of many devices shrinks
	// to a third, because their names and arrivals are alike.
	packFrom = 512
)

func (rec *record) begin(count uint64) {
	if rec.shapes == nil {
		rec.shapes = map[uint32]uint64{}
	}
	clear(rec.shapes)
	*rec = record{buf: append(rec.buf[:0], recordVersion), count: count, shapes: rec.shapes, packed: rec.packed}
}

// payload returns the record for the journal, compressed if it is large. It is valid until the
// next call.
func (rec *record) payload() []byte {
	if len(rec.buf) < packFrom {
		return rec.buf
	}
	if room := 1 + s2.MaxEncodedLen(len(rec.buf)); cap(rec.packed) < room {
		rec.packed = make([]byte, room)
	}
	packed := rec.packed[:cap(rec.packed)]
	packed[0] = packedVersion
	block := s2.Encode(packed[1:], rec.buf[1:])
	if len(block) >= len(rec.buf) {
		return rec.buf
	}
	return packed[:1+len(block)]
}

// unpack returns the content of a payload after its version byte. Single reports that each group
// is one reading.
func unpack(payload []byte) (data []byte, single bool, err error) {
	if len(payload) == 0 {
		return nil, false, errRow
	}
	switch version := payload[0]; version {
	case singleVersion, recordVersion:
		return payload[1:], version == singleVersion, nil
	case packedSingle, packedVersion:
		if n, err := s2.DecodedLen(payload[1:]); err != nil || n > journal.MaxPayload {
			return nil, false, errRow
		}
		data, err := s2.Decode(nil, payload[1:])
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", errRow, err)
		}
		return data, version == packedSingle, nil
	}
	return nil, false, errRow
}

// add adds readings of a series buffer, whose field names have the given index in the memtable.
// Bodies are their bodies, one after another.
func (rec *record) add(t *tail, rows []newRow, shapes [][]string, shape uint32, bodies []byte) {
	rec.rows += len(rows)
	buf := rec.buf
	if t.record == rec.count {
		buf = binary.AppendUvarint(buf, t.place)
	} else {
		t.record, t.place = rec.count, rec.series
		rec.series++
		buf = binary.AppendUvarint(buf, t.place)
		buf = binary.AppendUvarint(buf, uint64(t.table.number))
		buf = appendText(buf, t.series.Tenant)
		buf = appendText(buf, t.series.Stream)
		buf = appendText(buf, t.series.Device)
	}
	place, ok := rec.shapes[shape]
	if !ok {
		place = uint64(len(rec.shapes))
		rec.shapes[shape] = place
	}
	buf = binary.AppendUvarint(buf, place)
	if !ok {
		buf = binary.AppendUvarint(buf, uint64(len(shapes[shape])))
		for _, name := range shapes[shape] {
			buf = appendText(buf, name)
		}
	}
	buf = binary.AppendUvarint(buf, uint64(len(rows)))
	for i := range rows {
		buf = binary.AppendVarint(buf, rows[i].time-rec.time)
		rec.time = rows[i].time
	}
	for i := range rows {
		buf = binary.AppendUvarint(buf, uint64(rows[i].to-rows[i].from))
	}
	rec.buf = append(buf, bodies...)
}

// replayer decodes a record.
type replayer struct {
	bodyReader
	tails  []*tail // nil for a dropped table
	shapes [][]string
	arena  chunk.Arena
}

// replayReadings restores the readings of a record in their series buffers. It skips readings of
// dropped tables. It is called before any other use of the store.
func (s *Store) replayReadings(payload []byte) (err error) {
	data, single, err := unpack(payload)
	if err != nil {
		return err
	}
	rp := replayer{bodyReader: bodyReader{data: data}}
	at := int64(0)
	for len(rp.data) > 0 {
		t, shape, n := rp.tail(s), rp.shape(), uint64(1)
		if !single {
			n = rp.uvarint()
		}
		if n > uint64(len(rp.data)) { // each reading has bytes
			return errRow
		}
		rows := make([]newRow, n)
		for i := range rows {
			at += rp.varint()
			rows[i].time = at
		}
		for i := range rows {
			rows[i].to = uint32(min(rp.uvarint(), math.MaxUint32))
		}
		for i := range rows {
			body := rp.take(uint64(rows[i].to))
			if rp.err != nil || t == nil {
				continue // a failure also empties rp.data
			}
			if err := s.replayReading(t, shape, rows[i].time, body, &rp.arena); err != nil {
				return err
			}
		}
	}
	return rp.err
}

// replayReading restores a reading in its series buffer, unless it is stored already.
func (s *Store) replayReading(t *tail, shape []string, at int64, body []byte, arena *chunk.Arena) error {
	r := varve.Reading{Series: t.series, Time: time.Unix(0, at)}
	if err := readBody(body, t.table.base(), shape, &r, arena); err != nil {
		return err
	}
	place, found := t.runs[s.active.parity].findReading(&s.active.content, &r)
	if !found && s.flushedLost {
		setID(&r)
		err := s.afterDamage(func() (err error) {
			found, err = s.inChunks(t, &r)
			return err
		})
		if err != nil && !isDamage(err) {
			return err
		} // a copy of damaged data is harmless
	}
	if !found {
		s.active.insert(t, place, newRow{time: at}, s.active.shape(r.Fields, 0), body)
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
	f.turn(t.table, t.series)
	at := r.Time.UnixNano()
	l := lookup{reading: r}
	if err = f.load(at, at); err == nil {
		err = f.ask([]*lookup{&l})
	}
	return l.inChunk.Outcome != 0, err
}

func (rp *replayer) tail(s *Store) *tail {
	place := rp.uvarint()
	if place < uint64(len(rp.tails)) {
		return rp.tails[place]
	}
	number := uint32(rp.uvarint())
	series := varve.Series{Tenant: rp.text(), Stream: rp.text(), Device: rp.text()}
	if place > uint64(len(rp.tails)) {
		rp.fail()
	}
	if rp.err != nil {
		return nil
	}
	var t *tail
	if tb, ok := s.tables.byNum[number]; ok {
		t = s.makeTail(tb, series)
	}
	rp.tails = append(rp.tails, t)
	return t
}

func (rp *replayer) shape() []string {
	place := rp.uvarint()
	if place < uint64(len(rp.shapes)) {
		return rp.shapes[place]
	}
	n := rp.uvarint()
	if place > uint64(len(rp.shapes)) || n > varve.MaxFields {
		rp.fail()
		return nil
	}
	shape := make([]string, n)
	for i := range shape {
		shape[i] = rp.text()
	}
	rp.shapes = append(rp.shapes, shape)
	return shape
}
