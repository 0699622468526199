package arrowstream

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/block"
)

// A batch is written when its values have about batchBytes. The size is checked after each group
// of at most groupRows readings.
const (
	batchBytes = 1 << 20
	groupRows  = 64
)

// EndBytes is the length of the mark that ends a complete stream.
//
// Readers also accept a stream without the mark, if the stream ends between two batches. So a sender
// should send the last EndBytes bytes of its output only after Close. Then a truncated answer ends within
// a batch, and each reader fails.
const EndBytes = 8

// Writer writes readings as a stream. At most the readings of one batch are in memory.
type Writer struct {
	types   *TypeSet
	stream  *ipc.Writer
	batch   *array.RecordBuilder
	device  *array.StringBuilder // nil if the stream has no devices
	time    *array.TimestampBuilder
	id      *array.StringBuilder
	arrived *array.TimestampBuilder
	version *array.Uint32Builder // nil if no reading has a version
	columns []column             // in the order of types.fields
	forms   block.Forms
	text    []byte // buffer for the text of a value
	rows    int    // number of readings in the batch
	width   int    // approximate bytes of a reading, excluding texts
	texts   int    // bytes of texts in the batch
}

// NewWriter returns a writer of a stream with the collected types. It writes nothing yet. The set
// must not change afterward.
func (s *TypeSet) NewWriter(out io.Writer, numbers Numbers) *Writer {
	s.sort()
	schema := s.schema(numbers)
	w := &Writer{
		types:  s,
		stream: ipc.NewWriter(out, ipc.WithSchema(schema), ipc.WithAllocator(memory.DefaultAllocator)),
		batch:  array.NewRecordBuilder(memory.DefaultAllocator, schema),
	}
	builders := w.batch.Fields()
	if s.device {
		w.device, _ = builders[0].(*array.StringBuilder)
		builders = builders[1:]
	}
	w.time, _ = builders[0].(*array.TimestampBuilder)
	w.id, _ = builders[1].(*array.StringBuilder)
	w.arrived, _ = builders[2].(*array.TimestampBuilder)
	builders = builders[3:]
	w.width = 8 + 8 + 4
	if s.versioned {
		w.version, _ = builders[0].(*array.Uint32Builder)
		builders = builders[1:]
		w.width += 4
	}
	first := schema.NumFields() - len(builders)
	for i := range s.fields {
		c := newColumn(&s.fields[i], schema.Field(first+i).Type, builders[i])
		w.columns = append(w.columns, c)
		w.width += c.width
	}
	return w
}

// column returns the column of a field, or nil if the field is not requested. It fails with
// ErrChanged if the set has not collected the field.
func (w *Writer) column(name string) (*column, error) {
	i, ok := w.types.index[name]
	switch {
	case ok:
		return &w.columns[i], nil
	case w.types.only:
		return nil, nil //nolint:nilnil // no column, and no failure
	default:
		return nil, changed(name)
	}
}

// Add appends readings to the batch. It writes the batch when it is full.
func (w *Writer) Add(readings []varve.Reading) error {
	for i := range readings {
		r := &readings[i]
		if w.device != nil {
			w.device.Append(r.Device)
			w.texts += len(r.Device)
		}
		if err := w.addHead(r.Time.UnixNano(), r.Arrived.UnixMilli(), r.ID); err != nil {
			return err
		}
		for j := range r.Fields {
			c, err := w.column(r.Fields[j].Name)
			if err != nil {
				return err
			}
			if c == nil {
				continue
			}
			if err := w.addValue(c, w.rows, r.Fields[j].Value); err != nil {
				return err
			}
		}
		w.rows++
		if w.rows%w.group() == 0 {
			if err := w.writeFull(); err != nil {
				return err
			}
		}
	}
	return nil
}

// group returns the number of readings after which the size of the batch is checked.
func (w *Writer) group() int { return max(1, min(groupRows, batchBytes/w.width)) }

func (w *Writer) addHead(ns, arrived int64, id varve.ID) error {
	w.time.Append(arrow.Timestamp(ns))
	w.arrived.Append(arrow.Timestamp(arrived))
	w.text = id.Append(w.text[:0])
	w.id.BinaryBuilder.Append(w.text)
	w.texts += len(w.text)
	switch {
	case w.version == nil && id.Version() > 0:
		return changed(wire.VersionColumn)
	case w.version == nil:
	case id.Version() > 0:
		w.version.Append(id.Version())
	default:
		w.version.AppendNull()
	}
	return nil
}

// addValue adds the value of a row, and nulls for the rows before it.
func (w *Writer) addValue(c *column, row int, v varve.Value) error {
	c.pad(row)
	text, n, err := c.add(w.text, v)
	w.text = text
	w.texts += n
	return err
}

// AddPart adds the readings of a part of a block. The stream must not have a column for devices.
func (w *Writer) AddPart(p *block.Part) error {
	w.forms.Reset(p.Block)
	group := w.group()
	for from := 0; from < p.Len(); from += group {
		to := min(from+group, p.Len())
		for i, id := range w.forms.IDs(p, from, to) {
			row := p.Row(from + i)
			if err := w.addHead(p.Times[row], p.Arrived[row], id); err != nil {
				return err
			}
		}
		for i := range p.Columns {
			if err := w.addColumn(&p.Columns[i], p, from, to); err != nil {
				return err
			}
		}
		w.rows += to - from
		if err := w.writeFull(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) addColumn(from *block.Column, p *block.Part, first, end int) error {
	var c *column
	for k := first; k < end; k++ {
		row := p.Row(k)
		if !from.Has(row) {
			continue
		}
		if c == nil {
			var err error
			if c, err = w.column(from.Name); c == nil {
				return err
			}
			from.Decode()
		}
		at := w.rows + k - first
		if from.Plain && c.decimals != nil {
			c.pad(at)
			if !c.addScaled(from.Coefs[row], int(from.Least)) {
				return changed(c.name)
			}
		} else if err := w.addValue(c, at, from.Value(row)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeFull() error {
	if w.rows*w.width+w.texts < batchBytes {
		return nil
	}
	return w.write()
}

func (w *Writer) write() error {
	for i := range w.columns {
		w.columns[i].pad(w.rows)
	}
	record := w.batch.NewRecordBatch()
	defer record.Release()
	w.rows, w.texts = 0, 0
	return w.stream.Write(record)
}

// Close writes the rest of the readings and the end of the stream.
func (w *Writer) Close() error {
	if w.rows > 0 {
		if err := w.write(); err != nil {
			return err
		}
	}
	return w.stream.Close()
}
