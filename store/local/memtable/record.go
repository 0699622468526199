package memtable

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/klauspost/compress/s2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/journal"
)

// Record encodes new readings as the payload of a journal frame. A record is self-contained.
//
//	byte     version
//	groups   uvarint  index of the series in this record; after a new index:
//	                  table number, tenant, stream, device
//	         uvarint  index of the field names in this record; after a new
//	                  index: their number and texts
//	         uvarint  number of readings
//	         varints  event times, each minus the one before in the record
//	         uvarints lengths of the bodies
//	         bodies
//
// Arrivals in bodies are relative to the start of the table's arrival month. In the versions
// packedVersion and packedSingle, the groups are compressed. In the versions singleVersion and
// packedSingle, each group is one reading, and has no number of readings.
type Record struct {
	buf    []byte
	count  uint64 // the number of the record
	series uint64 // number of series so far
	shapes map[uint32]uint64
	time   int64
	rows   int
	packed []byte // memory for the result of Payload
}

const (
	singleVersion = 1
	packedSingle  = 2
	recordVersion = 3
	// packedVersion marks a record that is compressed after its version byte, as a block of S2.
	packedVersion = 4
	// packFrom is the size at which records are compressed. A record of many devices shrinks to a third,
	// because their names and arrivals are alike.
	packFrom = 512
)

// Begin empties the record. Its number is "count", which no earlier record may have.
func (rec *Record) Begin(count uint64) {
	if rec.shapes == nil {
		rec.shapes = map[uint32]uint64{}
	}
	clear(rec.shapes)
	*rec = Record{buf: append(rec.buf[:0], recordVersion), count: count, shapes: rec.shapes, packed: rec.packed}
}

// IsEmpty reports whether the record has no readings.
func (rec *Record) IsEmpty() bool { return rec.rows == 0 }

// Payload returns the record for the journal. A large record is compressed if that makes it smaller.
// The result is valid until the next change of the record.
func (rec *Record) Payload() []byte {
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

// unpack returns the content of a payload after its version byte. If "single" is true, each group
// is one reading.
func unpack(payload []byte) (data []byte, single bool, err error) {
	if len(payload) == 0 {
		return nil, false, ErrBody
	}
	switch version := payload[0]; version {
	case singleVersion, recordVersion:
		return payload[1:], version == singleVersion, nil
	case packedSingle, packedVersion:
		if n, err := s2.DecodedLen(payload[1:]); err != nil || n > journal.MaxPayload {
			return nil, false, ErrBody
		}
		data, err := s2.Decode(nil, payload[1:])
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", ErrBody, err)
		}
		return data, version == packedSingle, nil
	}
	return nil, false, ErrBody
}

// Source identifies a series in a table for records. It also stores the index of the series in the last
// record that names it.
type Source struct {
	Table  uint32 // number of the table
	Series varve.Series

	// In the record with the number "record", the series has the index "index". So each record names
	// a series once.
	record uint64
	index  uint64
}

// Add adds entries of a source that have the same field names. In the memtable, these names have
// the index "shape". The bodies of the entries are in "bodies", one after another.
func (rec *Record) Add(src *Source, entries []Entry, shape uint32, names []string, bodies []byte) {
	rec.rows += len(entries)
	buf := rec.buf
	if src.record == rec.count {
		buf = binary.AppendUvarint(buf, src.index)
	} else {
		src.record, src.index = rec.count, rec.series
		rec.series++
		buf = binary.AppendUvarint(buf, src.index)
		buf = binary.AppendUvarint(buf, uint64(src.Table))
		buf = appendText(buf, src.Series.Tenant)
		buf = appendText(buf, src.Series.Stream)
		buf = appendText(buf, src.Series.Device)
	}
	index, ok := rec.shapes[shape]
	if !ok {
		index = uint64(len(rec.shapes))
		rec.shapes[shape] = index
	}
	buf = binary.AppendUvarint(buf, index)
	if !ok {
		buf = binary.AppendUvarint(buf, uint64(len(names)))
		for _, name := range names {
			buf = appendText(buf, name)
		}
	}
	buf = binary.AppendUvarint(buf, uint64(len(entries)))
	for i := range entries {
		buf = binary.AppendVarint(buf, entries[i].Time-rec.time)
		rec.time = entries[i].Time
	}
	for i := range entries {
		buf = binary.AppendUvarint(buf, uint64(entries[i].To-entries[i].From))
	}
	rec.buf = append(buf, bodies...)
}

// Recorded is a reading of a record.
type Recorded struct {
	Source *Source // shared by all readings of a series in the record
	Names  []string
	Time   int64
	Body   []byte
}

type decoder struct {
	bodyReader
	sources []*Source
	shapes  [][]string
}

// Decode calls the function "visit" for each reading of a record. It fails with ErrBody if the payload
// is invalid.
func Decode(payload []byte, visit func(Recorded) error) error {
	data, single, err := unpack(payload)
	if err != nil {
		return err
	}
	d := decoder{bodyReader: bodyReader{data: data}}
	last := int64(0)
	for d.at < len(d.data) {
		src, names, n := d.source(), d.shape(), uint64(1)
		if !single {
			n = d.uvarint()
		}
		if n > uint64(len(d.data)-d.at) { // the rest is too short, because each reading has at least one byte
			return ErrBody
		}
		entries := make([]Entry, n)
		for i := range entries {
			last += d.varint()
			entries[i].Time = last
		}
		for i := range entries {
			entries[i].To = uint32(min(d.uvarint(), math.MaxUint32))
		}
		for i := range entries {
			body := d.bytes(uint64(entries[i].To))
			if d.err != nil {
				continue // after an error, d is at the end of its data, so the outer loop ends, too
			}
			if err := visit(Recorded{Source: src, Names: names, Time: entries[i].Time, Body: body}); err != nil {
				return err
			}
		}
	}
	return d.err
}

func (d *decoder) source() *Source {
	index := d.uvarint()
	if index < uint64(len(d.sources)) {
		return d.sources[index]
	}
	src := &Source{Table: uint32(d.uvarint())}
	src.Series = varve.Series{Tenant: d.text(), Stream: d.text(), Device: d.text()}
	if index > uint64(len(d.sources)) {
		d.fail()
	}
	if d.err == nil {
		d.sources = append(d.sources, src)
	}
	return src
}

func (d *decoder) shape() []string {
	index := d.uvarint()
	if index < uint64(len(d.shapes)) {
		return d.shapes[index]
	}
	n := d.uvarint()
	if index > uint64(len(d.shapes)) || n > varve.MaxFields {
		d.fail()
		return nil
	}
	shape := make([]string, n)
	for i := range shape {
		shape[i] = d.text()
	}
	d.shapes = append(d.shapes, shape)
	return shape
}
