package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// GroupRows is the default number of rows of a row group.
const GroupRows = 1 << 17

const (
	// groupBytes is the size of values at which a row group is complete. A row group needs about 15 times its
	// size while it is written.
	groupBytes = 32 << 20
	// groupSlots is the product of rows and fields at which a row group is complete. A reader needs about 5
	// bytes for each field in each row, even if the row lacks the field.
	groupSlots = 16 << 20
	// partRows is the largest number of rows that are added at a time.
	partRows = 512
)

// MaxFileBytes is the default of Options.MaxBytes. A file that has reached this size in bytes gets no further
// row group.
const MaxFileBytes = 32 << 20

// Options configure a Builder.
type Options struct {
	Table     string           // name of the table, for the metadata of the files
	GroupRows int              // number of rows in a row group; 0 means the constant GroupRows
	MaxBytes  int              // size in bytes from which a file gets no further row group; 0 means MaxFileBytes
	Put       func(File) error // receives each file, in order
	// If Concurrent is set, another goroutine writes a row group and calls Put, while the Builder collects
	// the next one. The Builder then returns an error of Put from a later call.
	Concurrent bool
}

// File is a complete file of readings, with a description of its rows.
type File struct {
	Body     []byte
	Readings int64
	First    varve.Series // series of the first row
	Last     varve.Series // series of the last row
	From, To time.Time    // event times of the rows: From <= time <= To
	Groups   []Group
}

// Builder writes sorted readings to files. In memory, it has at most one file and one row group, or two row
// groups if it is concurrent.
type Builder struct {
	opts    Options
	group   *group     // the row group that collects rows
	spare   *group     // if the Builder is concurrent, a second group: empty, or being written
	writing chan error // receives the result of writing spare; nil if no group is being written

	// The fields below belong to the goroutine that writes a group.
	body   bytes.Buffer
	writer *parquet.GenericWriter[any] // nil if no file has begun
	layout *layout                     // layout of the current file, or of the last one if no file has begun
	file   File
	values []parquet.Value
}

// NewBuilder returns a Builder without rows. If a limit in the options is 0, the default applies.
func NewBuilder(o Options) *Builder {
	if o.GroupRows <= 0 {
		o.GroupRows = GroupRows
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = MaxFileBytes
	}
	b := &Builder{opts: o, group: newGroup()}
	if o.Concurrent {
		b.spare = newGroup()
	}
	return b
}

// Add adds a reading. Readings must be sorted by series and position.
func (b *Builder) Add(r *varve.Reading) error {
	id := r.ID
	if !r.HasOwnID() {
		id = varve.ID{}
	}
	b.group.add(r, id)
	return b.flushFull()
}

// AddPart adds readings that are stored as columns. They must be in ascending order.
func (b *Builder) AddPart(p *block.Part) error {
	if p.Desc {
		return fmt.Errorf("add a part in descending order")
	}
	for rest := *p; rest.Len() > 0; {
		part := rest
		room := min(b.opts.GroupRows-b.group.rows(), partRows)
		if part.Len() > room {
			part, rest = rest.Cut(room)
		} else {
			rest.From = rest.To
		}
		b.group.addPart(&part)
		if err := b.flushFull(); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the collected rows, and completes the last file.
func (b *Builder) Close() error {
	if err := errors.Join(b.flushGroup(), b.Wait()); err != nil {
		return err
	}
	return b.endFile()
}

// Wait waits until no row group is being written, and returns the error of the last one. If a Builder is
// not closed, the caller must call Wait.
func (b *Builder) Wait() error {
	if b.writing == nil {
		return nil
	}
	err := <-b.writing
	b.writing = nil
	return err
}

func (b *Builder) flushFull() error {
	g := b.group
	if g.rows() < b.opts.GroupRows && g.bytes < groupBytes && g.rows()*len(g.fields) < groupSlots {
		return nil
	}
	return b.flushGroup()
}

// flushGroup writes the collected rows as a row group, or begins to do so.
func (b *Builder) flushGroup() error {
	if b.group.rows() == 0 {
		return nil
	}
	if b.spare == nil {
		return b.appendGroup(b.group)
	}
	if err := b.Wait(); err != nil {
		return err
	}
	full, done := b.group, make(chan error, 1)
	b.group, b.spare, b.writing = b.spare, full, done
	go func() { done <- b.appendGroup(full) }()
	return nil
}

// appendGroup writes a row group to the current file or the next one, and empties the group.
func (b *Builder) appendGroup(g *group) error {
	needed := g.needed()
	if b.writer != nil && (!b.layout.covers(needed) || b.body.Len() >= b.opts.MaxBytes) {
		if err := b.endFile(); err != nil {
			return err
		}
	}
	if b.writer == nil {
		b.beginFile(needed)
	}
	if err := b.writeGroup(g); err != nil {
		return fmt.Errorf("write row group: %w", err)
	}
	b.countRows(g)
	g.reset()
	return nil
}

// beginFile begins a file. Its layout covers the needed one. It also has the columns of the previous file,
// unless the two layouts cannot be joined.
func (b *Builder) beginFile(needed *layout) {
	if b.layout != nil {
		if joined := b.layout.join(needed); joined.covers(needed) {
			needed = joined
		}
	}
	b.layout = needed
	b.body = bytes.Buffer{}
	b.writer = parquet.NewGenericWriter[any](&b.body, needed.schema(),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.PageBufferSize(256<<10), parquet.DataPageStatistics(false), parquet.DictionaryMaxBytes(1<<20),
		parquet.MaxRowsPerRowGroup(1<<40),
		parquet.KeyValueMetadata(metaSchema, SchemaVersion), parquet.KeyValueMetadata(metaTable, b.opts.Table),
		parquet.CreatedBy("varve", SchemaVersion, ""))
	b.file = File{}
}

// countRows adds the rows of the row group to the description of the file.
func (b *Builder) countRows(g *group) {
	low, high := slices.Min(g.times), slices.Max(g.times)
	added := Group{
		Readings: int64(g.rows()), First: g.runs[0].series, Last: g.runs[len(g.runs)-1].series,
		From: time.Unix(0, low).UTC(), To: time.Unix(0, high).UTC(),
	}
	f := &b.file
	if f.Readings == 0 {
		f.First, f.From, f.To = added.First, added.From, added.To
	}
	if added.From.Before(f.From) {
		f.From = added.From
	}
	if added.To.After(f.To) {
		f.To = added.To
	}
	f.Last = added.Last
	f.Readings += added.Readings
	f.Groups = append(f.Groups, added)
}

// endFile completes the current file, if any.
func (b *Builder) endFile() error {
	if b.writer == nil {
		return nil
	}
	if err := b.writer.Close(); err != nil {
		return fmt.Errorf("end file: %w", err)
	}
	b.writer = nil
	b.file.Body = b.body.Bytes()
	if err := placeGroups(b.file.Body, b.file.Groups); err != nil {
		return fmt.Errorf("find row groups: %w", err)
	}
	return b.opts.Put(b.file)
}
