package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/journal"
)

// record is a frame of the journal with the new readings of one Write. It is self-contained.
//
//	byte     version; a compressed record follows the version packedVersion
//	readings uvarint  index of the series among those named so far; if it is
//	                  the next one: table number, tenant, stream, device
//	         uvarint  index of the field names among those named so far; if it
//	                  is the next: their number and texts
//	         varint   event time, minus the event time of the previous reading
//	         uvarint  length of the body, body
//
// Arrivals in bodies are relative to the table.
type record struct {
	buf    []byte
	count  uint64 // value of Store.records
	series uint64 // number of series so far
	shapes map[uint32]uint64
	shape  uint32 // of the last reading, in the memtable
	time   int64
	rows   int
	packed []byte // memory of payload
}

const (
	recordVersion = 1
	// packedVersion marks a record that is compressed after its version byte, as a block of S2.
	packedVersion = 2
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

// unpack returns the content of a payload after its version byte.
func unpack(payload []byte) ([]byte, error) {
	if len(payload) == 0 {
		return nil, errRow
	}
	switch payload[0] {
	case recordVersion:
		return payload[1:], nil
	case packedVersion:
		if n, err := s2.DecodedLen(payload[1:]); err != nil || n > journal.MaxPayload {
			return nil, errRow
		}
		data, err := s2.Decode(nil, payload[1:])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRow, err)
		}
		return data, nil
	}
	return nil, errRow
}

// add adds a reading of a series buffer. rec.shape is the number of its field names.
func (rec *record) add(t *tail, at int64, shapes [][]string, body []byte) {
	rec.rows++
	if t.record == rec.count {
		rec.buf = binary.AppendUvarint(rec.buf, t.place)
	} else {
		t.record, t.place = rec.count, rec.series
		rec.series++
		rec.buf = binary.AppendUvarint(rec.buf, t.place)
		rec.buf = binary.AppendUvarint(rec.buf, uint64(t.table.number))
		rec.buf = appendText(rec.buf, t.series.Tenant)
		rec.buf = appendText(rec.buf, t.series.Stream)
		rec.buf = appendText(rec.buf, t.series.Device)
	}
	place, ok := rec.shapes[rec.shape]
	if !ok {
		place = uint64(len(rec.shapes))
		rec.shapes[rec.shape] = place
	}
	rec.buf = binary.AppendUvarint(rec.buf, place)
	if !ok {
		rec.buf = binary.AppendUvarint(rec.buf, uint64(len(shapes[rec.shape])))
		for _, name := range shapes[rec.shape] {
			rec.buf = appendText(rec.buf, name)
		}
	}
	rec.buf = binary.AppendVarint(rec.buf, at-rec.time)
	rec.time = at
	rec.buf = binary.AppendUvarint(rec.buf, uint64(len(body)))
	rec.buf = append(rec.buf, body...)
}

// replayer decodes a record.
type replayer struct {
	bodyReader
	tails  []*tail // nil for a dropped table
	shapes [][]string
}

// replayReadings restores the readings of a record in their series buffers. It skips readings of
// dropped tables. It is called before any other use of the store.
func (s *Store) replayReadings(payload []byte) (err error) {
	data, err := unpack(payload)
	if err != nil {
		return err
	}
	rp := replayer{bodyReader: bodyReader{data: data}}
	var r varve.Reading
	var arena chunk.Arena
	at := int64(0)
	for len(rp.data) > 0 {
		t, shape := rp.tail(s), rp.shape()
		at += rp.varint()
		body := rp.take(rp.uvarint())
		if rp.err != nil || t == nil {
			continue // a failure also empties rp.data
		}
		r.Series = t.series
		if err := readBody(body, t.table.base(), shape, &r, &arena); err != nil {
			return err
		}
		place, found := t.runs[s.active.parity].find(varve.Position{Time: at, ID: r.ID})
		if !found && s.flushedLost {
			r.Time = time.Unix(0, at)
			err := s.afterDamage(func() (err error) {
				found, err = s.inChunks(t, &r)
				return err
			})
			if err != nil && !isDamage(err) {
				return err
			} // a copy of damaged data is harmless
		}
		if !found {
			w := row{time: at, hash: hashOf(r.ID), shape: s.active.shape(r.Fields, 0)}
			s.active.add(t, place, w, body)
		}
	}
	return rp.err
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
	e := entry{reading: r}
	if err = f.load(at, at); err == nil {
		err = f.ask([]*entry{&e})
	}
	return e.inChunk.Outcome != 0, err
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
