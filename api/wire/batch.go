package wire

import (
	"strings"

	"github.com/varvedb/varve"
)

// Batch holds readings of a body, and the verdicts of the readings that are invalid. Reset keeps
// its memory for the next readings.
type Batch struct {
	Readings []varve.Reading
	Verdicts []varve.Verdict // zero for a reading that is valid so far
	Lines    []int           // number of the first line of each reading, from 1; 0 in JSON
	// SkippedCells is the number of cells that were omitted, because they are not values.
	SkippedCells int64

	fields []varve.Field // memory of all fields
	names  interner
	size   int // bytes of memory
	share  share
}

// Limits of a batch. It accepts at least one reading.
const (
	BatchReadings = 5000
	BatchBytes    = 4 << 20
)

// fieldBytes is the assumed size of a field in BatchBytes, without its name and text.
const fieldBytes = 32

// Len returns the number of readings.
func (b *Batch) Len() int { return len(b.Readings) }

// Full reports whether the batch accepts no further readings.
func (b *Batch) Full() bool {
	return len(b.Readings) >= BatchReadings || b.size > b.share.most && !b.share.covers(b.size)
}

// Reset empties the batch.
func (b *Batch) Reset() {
	b.size, b.SkippedCells = 0, 0
	b.share.giveBack()
	clear(b.Readings)
	clear(b.fields)
	b.Readings, b.Verdicts, b.Lines, b.fields = b.Readings[:0], b.Verdicts[:0], b.Lines[:0], b.fields[:0]
}

// add appends an empty reading and returns it.
func (b *Batch) add(line int) *varve.Reading {
	b.Lines = append(b.Lines, line)
	b.Readings = append(b.Readings, varve.Reading{})
	b.Verdicts = append(b.Verdicts, varve.Verdict{})
	return &b.Readings[len(b.Readings)-1]
}

// reject sets the verdict of the last reading.
func (b *Batch) reject(v varve.Verdict) { b.Verdicts[len(b.Verdicts)-1] = v }

// begin starts the fields of the last reading. end assigns them.
func (b *Batch) begin() int { return len(b.fields) }

func (b *Batch) field(name string, v varve.Value) {
	b.size += fieldBytes + len(name) + len(v.Text())
	b.fields = append(b.fields, varve.Field{Name: name, Value: v})
}

// device returns the name of a device, interned if it may be valid.
func (b *Batch) device(name []byte) string {
	if len(name) > varve.MaxDeviceBytes {
		b.size += len(name)
	}
	return b.names.get(name)
}

func (b *Batch) end(from int, r *varve.Reading) {
	r.Fields = b.fields[from:len(b.fields):len(b.fields)]
}

// interner keeps one copy of each repeated name.
type interner struct{ names map[string]string }

// maxNames limits an interner. When it is full, it starts empty.
const maxNames = 16 << 10

func (in *interner) get(b []byte) string {
	if len(b) > varve.MaxDeviceBytes {
		return string(b) // too long for a valid name, so it is not kept
	}
	if s, ok := in.names[string(b)]; ok {
		return s
	}
	if in.names == nil || len(in.names) >= maxNames {
		in.names = make(map[string]string)
	}
	s := strings.Clone(string(b))
	in.names[s] = s
	return s
}
