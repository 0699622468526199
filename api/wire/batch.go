package wire

import (
	"strings"

	"github.com/varvedb/varve"
)

// Batch is a run of readings taken from a body, with the verdicts of those
// that are wrong already. Its memory is used again for the next run.
type Batch struct {
	Readings []varve.Reading
	Verdicts []varve.Verdict // zero: nothing is wrong so far
	Lines    []int           // on which each begins, from 1; 0 in JSON

	fields []varve.Field // memory of the readings' fields
	names  interner
	size   int // of the readings, as they lie in memory
	share  share
}

// A batch takes readings up to a number and up to a size, and at least one.
const (
	BatchReadings = 5000
	BatchBytes    = 4 << 20
)

// fieldBytes is what a field counts towards BatchBytes, beside its name and
// text.
const fieldBytes = 32

// Len returns the number of readings.
func (b *Batch) Len() int { return len(b.Readings) }

// Full reports whether the batch takes no more.
func (b *Batch) Full() bool {
	return len(b.Readings) >= BatchReadings || b.size > b.share.most && !b.share.covers(b.size)
}

// Reset empties the batch.
func (b *Batch) Reset() {
	b.size = 0
	b.share.giveBack()
	clear(b.Readings)
	clear(b.fields)
	b.Readings, b.Verdicts, b.Lines, b.fields = b.Readings[:0], b.Verdicts[:0], b.Lines[:0], b.fields[:0]
}

// add adds an empty reading and returns it.
func (b *Batch) add(line int) *varve.Reading {
	b.Lines = append(b.Lines, line)
	b.Readings = append(b.Readings, varve.Reading{})
	b.Verdicts = append(b.Verdicts, varve.Verdict{})
	return &b.Readings[len(b.Readings)-1]
}

// reject sets the verdict of the reading added last.
func (b *Batch) reject(v varve.Verdict) { b.Verdicts[len(b.Verdicts)-1] = v }

// begin begins the fields of the reading added last; end gives them to it.
func (b *Batch) begin() int { return len(b.fields) }

func (b *Batch) field(name string, v varve.Value) {
	b.size += fieldBytes + len(name) + len(v.Text())
	b.fields = append(b.fields, varve.Field{Name: name, Value: v})
}

// device returns the name of a device, which is kept if it may be one.
func (b *Batch) device(name []byte) string {
	if len(name) > varve.MaxDeviceBytes {
		b.size += len(name)
	}
	return b.names.get(name)
}

func (b *Batch) end(from int, r *varve.Reading) {
	r.Fields = b.fields[from:len(b.fields):len(b.fields)]
}

// interner keeps one copy of names that come again and again.
type interner struct{ names map[string]string }

// maxNames bounds an interner; a body with ever new names starts it afresh.
const maxNames = 16 << 10

func (in *interner) get(b []byte) string {
	if len(b) > varve.MaxDeviceBytes {
		return string(b) // it will be rejected, and need not be kept
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
