package wire

import (
	"slices"

	"github.com/varvedb/varve"
)

// Batch has readings of a body, and the verdicts on the invalid ones. After Reset, the next readings
// reuse its memory.
type Batch struct {
	Readings []varve.Reading
	Verdicts []varve.Verdict // zero for a reading that is valid so far
	Lines    []int           // number of the first line of each reading, from 1; 0 in a JSON object or array
	// SkippedCells is the number of invalid cells that were omitted because of Columns.SkipBadCells.
	SkippedCells int64
	// TextNumbers is the number of cells that look like numbers, such as 1,50, and were read as text.
	TextNumbers int64
	// RecordTexts makes the readers of all formats store the texts of readings. Otherwise only the
	// reader of line protocol does.
	RecordTexts bool
	// MaxReadings is the number of readings from which the batch is full. 0, and numbers above
	// BatchReadings, mean BatchReadings.
	MaxReadings int
	// MaxBytes is the approximate size in bytes from which the batch is full. 0, and sizes above
	// BatchBytes, mean BatchBytes.
	MaxBytes int

	texts   []byte        // texts of the readings, if they are recorded
	spans   []span        // range of each text in texts
	header  []byte        // text of the header of a CSV body, if texts are recorded
	fields  []varve.Field // buffer for the fields of all readings
	names   interner
	devices deviceNames
	size    int // approximate memory of the readings, in bytes
	share   share

	groups []int32 // number that stands for each reading's device, in the order of the body
	sorted []int32 // index of each reading of the body in Readings; empty if Readings has the order of the body
}

// Limits of a batch. An empty batch accepts a reading of any size.
const (
	BatchReadings = 5000
	BatchBytes    = 4 << 20
)

// firstReadings is the first capacity of a batch in readings. The capacity then grows by factors of
// four, up to the size of a full batch.
const firstReadings = BatchReadings/256 + 1

// fieldBytes is the assumed memory of a field, without its name and text. It is a part of the size that
// BatchBytes limits.
const fieldBytes = 32

// Len returns the number of readings.
func (b *Batch) Len() int { return len(b.Readings) }

// Full reports whether the batch accepts no further readings. It may reserve memory from the budget of the
// batch.
func (b *Batch) Full() bool {
	return len(b.Readings) >= b.maxReadings() || b.size >= b.maxBytes() || b.size > b.share.most && !b.share.covers(b.size)
}

// maxReadings returns the number of readings of a full batch.
func (b *Batch) maxReadings() int {
	if b.MaxReadings > 0 {
		return min(b.MaxReadings, BatchReadings)
	}
	return BatchReadings
}

// maxBytes returns the approximate size in bytes of a full batch.
func (b *Batch) maxBytes() int {
	if b.MaxBytes > 0 {
		return min(b.MaxBytes, BatchBytes)
	}
	return BatchBytes
}

// Reset empties the batch.
func (b *Batch) Reset() {
	b.size, b.SkippedCells, b.TextNumbers = 0, 0, 0
	b.share.giveBack()
	clear(b.Readings)
	clear(b.fields)
	b.Readings, b.Verdicts, b.Lines, b.fields = b.Readings[:0], b.Verdicts[:0], b.Lines[:0], b.fields[:0]
	b.groups, b.sorted = b.groups[:0], b.sorted[:0]
	b.devices.begin(b.maxNames())
	b.names.most = b.maxNames()
	b.texts, b.spans = b.texts[:0], b.spans[:0]
}

// Shrink releases memory that few batches need. The batch must be empty. It can have room for more readings
// than a full batch, because a row with many devices as columns adds all its readings.
func (b *Batch) Shrink() {
	if cap(b.fields) > b.maxBytes()/fieldBytes {
		b.fields = nil
	}
	if cap(b.texts) > b.maxBytes() {
		b.texts = nil
	}
	if cap(b.Readings) >= 4*b.maxReadings() {
		b.Readings, b.Verdicts, b.Lines, b.groups, b.sorted, b.spans = nil, nil, nil, nil, nil, nil
	}
}

// Sort orders Readings and Verdicts by device, so that the readings of a device are checked and
// stored together. Readings of one device stay in the order of the body. Lines stay in the order
// of the body.
func (b *Batch) Sort() {
	n := len(b.Readings)
	if len(b.sorted) > 0 || b.isSorted() {
		return
	}
	next := b.devices.starts(b.groups)
	b.sorted = slices.Grow(b.sorted, n)[:n]
	for i, g := range b.groups {
		b.sorted[i] = next[g]
		next[g]++
	}
	sorted := b.sorted
	for i := range sorted {
		if sorted[i] < 0 {
			continue // the reading was moved already
		}
		r, v, to := b.Readings[i], b.Verdicts[i], sorted[i]
		for at := i; ; {
			sorted[at] = ^to
			r, b.Readings[to] = b.Readings[to], r
			v, b.Verdicts[to] = b.Verdicts[to], v
			if at = int(to); at == i {
				break
			}
			to = sorted[at]
		}
	}
	for i := range sorted {
		sorted[i] = ^sorted[i]
	}
}

// isSorted reports whether the readings are in the order of the numbers of their devices. Then the
// readings of each device are together.
func (b *Batch) isSorted() bool {
	highest := int32(-1)
	for i, g := range b.groups {
		if i > 0 && g == b.groups[i-1] {
			continue
		}
		if g <= highest {
			return false
		}
		highest = g
	}
	return true
}

// Index returns the index in Readings and Verdicts of the reading with index i in the body.
func (b *Batch) Index(i int) int {
	if len(b.sorted) == 0 {
		return i
	}
	return int(b.sorted[i])
}

// add appends an empty reading and returns it.
func (b *Batch) add(line int) *varve.Reading {
	if n := len(b.Readings); n == cap(b.Readings) {
		b.grow(b.moreReadings())
	}
	b.Lines = append(b.Lines, line)
	b.Readings = append(b.Readings, varve.Reading{})
	b.Verdicts = append(b.Verdicts, varve.Verdict{})
	b.groups = append(b.groups, 0)
	return &b.Readings[len(b.Readings)-1]
}

// moreReadings returns the number of readings by which the batch grows. It leaves no room that a full
// batch does not need. A row with many devices as columns can exceed a full batch.
func (b *Batch) moreReadings() int {
	n, full := len(b.Readings), b.maxReadings()
	more := max(3*n, firstReadings)
	if n < full {
		more = min(more, full-n)
	}
	return more
}

func (b *Batch) grow(n int) {
	b.Lines = growBy(b.Lines, n)
	b.Readings = growBy(b.Readings, n)
	b.Verdicts = growBy(b.Verdicts, n)
	b.groups = growBy(b.groups, n)
}

// growBy returns s with room for n more elements. Unlike reuse.Grow, it makes no further room.
func growBy[S ~[]E, E any](s S, n int) S {
	if cap(s)-len(s) >= n {
		return s
	}
	grown := make(S, len(s), len(s)+n)
	copy(grown, s)
	return grown
}

// growFields makes room for n further fields of the last reading. It leaves little room that a full batch
// of readings with n fields does not need.
func (b *Batch) growFields(n int) {
	if cap(b.fields)-len(b.fields) >= n {
		return
	}
	left := b.maxReadings() - len(b.Readings) + 1 // including the last reading
	least := len(b.fields) / 4                    // if readings have different numbers of fields, growth is rare nevertheless
	b.fields = growBy(b.fields, max(n, min(3*len(b.fields), max(left*n, least))))
}

// reject sets the verdict of the last reading.
func (b *Batch) reject(v varve.Verdict) { b.Verdicts[len(b.Verdicts)-1] = v }

// begin starts the fields of the last reading. It returns the argument for the method end, which
// assigns the fields to the reading.
func (b *Batch) begin() int { return len(b.fields) }

func (b *Batch) field(name string, v varve.Value) {
	b.size += fieldBytes + len(name) + len(v.Text())
	b.fields = append(b.fields, varve.Field{Name: name, Value: v})
}

// device returns the name of a device, and assigns the last reading to the group of this device. A name
// that may be valid shares memory with equal names.
func (b *Batch) device(name []byte) string {
	if len(name) > varve.MaxDeviceBytes {
		b.size += len(name)
	}
	d := b.devices.get(name)
	b.groups[len(b.groups)-1] = d.group
	return d.name
}

// setDevice sets the device of the last reading. The caller must not reuse the memory of the name.
func (b *Batch) setDevice(r *varve.Reading, name string) {
	d := b.devices.getText(name)
	b.groups[len(b.groups)-1] = d.group
	r.Device = d.name
}

func (b *Batch) end(from int, r *varve.Reading) {
	r.Fields = b.fields[from:len(b.fields):len(b.fields)]
}

// maxNames returns the maximum number of names that the batch remembers.
func (b *Batch) maxNames() int { return maxNames * b.maxReadings() / BatchReadings }
