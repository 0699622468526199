package parquetfile

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// ErrMalformed means that a file does not have the format that this package writes.
var ErrMalformed = errors.New("file is not an archive of readings")

// Reader reads the readings of one file, row group by row group.
type Reader struct {
	file   *parquet.File
	layout *layout
}

// Open opens a file, and reads its footer. Every error wraps ErrMalformed. If r fails, the error also
// wraps the error of r.
func Open(r io.ReaderAt, size int64) (rd *Reader, err error) {
	defer recoverPanic(&err)
	return open(r, size, parquet.SkipPageIndex(true))
}

func open(r io.ReaderAt, size int64, option parquet.FileOption) (*Reader, error) {
	f, err := parquet.OpenFile(r, size, option, parquet.SkipBloomFilters(true), parquet.ReadBufferSize(64<<10))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if v, _ := f.Lookup(metaSchema); v != SchemaVersion {
		return nil, fmt.Errorf("%w: schema version %q, want %q", ErrMalformed, v, SchemaVersion)
	}
	l, err := layoutOf(f)
	if err != nil {
		return nil, err
	}
	return &Reader{file: f, layout: l}, nil
}

// recoverPanic turns a panic of the library, on a damaged file, into an error.
func recoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrMalformed, p)
	}
}

// Rows returns the number of rows.
func (rd *Reader) Rows() int64 { return rd.file.NumRows() }

// Groups returns the number of row groups.
func (rd *Reader) Groups() int { return len(rd.file.RowGroups()) }

// Table returns the name of the table in the metadata of the file.
func (rd *Reader) Table() string {
	name, _ := rd.file.Lookup(metaTable)
	return name
}

func layoutOf(f *parquet.File) (*layout, error) {
	types := map[string]fieldType{}
	var names []string
	for _, c := range f.Root().Columns() {
		if c.Name() != "fields" {
			names = append(names, c.Name())
			continue
		}
		for _, leaf := range c.Columns() {
			t, err := fieldTypeOf(leaf)
			if err != nil {
				return nil, err
			}
			types[leaf.Name()] = t
		}
	}
	l := newLayout(types, slices.Contains(names, versionName))
	want := []string{"tenant", "stream", "device", "time", "arrived", "id", "others", "decimals"}
	if l.versioned {
		want = append(want, versionName)
	}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		return nil, fmt.Errorf("%w: it has the columns %v", ErrMalformed, names)
	}
	if got := len(f.Schema().Columns()); got != l.columns() {
		return nil, fmt.Errorf("%w: it has %d columns", ErrMalformed, got)
	}
	return l, nil
}

func fieldTypeOf(leaf *parquet.Column) (fieldType, error) {
	switch leaf.Type().Kind() {
	case parquet.Boolean:
		return fieldType{kind: varve.KindBool}, nil
	case parquet.ByteArray:
		return textTypeOf(leaf), nil
	default:
		return numberTypeOf(leaf)
	}
}

func textTypeOf(leaf *parquet.Column) fieldType {
	if logical := leaf.Type().LogicalType(); logical != nil {
		if _, ok := logical.Value.(*format.JsonType); ok {
			return fieldType{kind: varve.KindJSON}
		}
	}
	return fieldType{kind: varve.KindString}
}

func numberTypeOf(leaf *parquet.Column) (fieldType, error) {
	logical := leaf.Type().LogicalType()
	if logical == nil {
		return fieldType{}, fmt.Errorf("%w: field %q has no logical type", ErrMalformed, leaf.Name())
	}
	d, ok := logical.Value.(*format.DecimalType)
	if !ok || d.Precision != narrowDigits && d.Precision != wideDigits || d.Scale < 0 || d.Scale > d.Precision {
		return fieldType{}, fmt.Errorf("%w: field %q is not decimal", ErrMalformed, leaf.Name())
	}
	return fieldType{kind: varve.KindNumber, scale: int(d.Scale), whole: int(d.Precision - d.Scale)}, nil
}

// ReadGroup returns the readings of a row group, one block per series. If the argument "exact" is
// false, numbers are equal to the stored ones, but may have more or fewer zeros at the end. That
// suffices to compare values.
func (rd *Reader) ReadGroup(i int, exact bool) (blocks []*block.Block, err error) {
	defer recoverPanic(&err)
	g := rd.file.RowGroups()[i]
	rows := int(g.NumRows())
	columns := make([]column, rd.layout.columns())
	for c, chunk := range g.ColumnChunks() {
		if c == rd.layout.decimals() && !exact {
			continue
		}
		if err := columns[c].read(chunk, rows); err != nil {
			return nil, fmt.Errorf("%w: row group %d, column %d: %w", ErrMalformed, i, c, err)
		}
	}
	a := assembly{layout: rd.layout, columns: columns, exact: exact}
	return a.blocks(rows)
}

// column has the values of a column in a row group.
type column struct {
	defs  []byte // by row: 1 if the row has a value, otherwise 0; empty if all rows have one
	ints  []int64
	bytes []byte // wide numbers, 16 bytes each
	texts []string
	bools []byte // one bit per value
	count int    // number of values

	dictionary []string
	next       int // index of the first value that no block has yet
}

func (c *column) read(chunk parquet.ColumnChunk, rows int) (err error) {
	pages := chunk.Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	seen := 0
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		err = c.addPage(page, rows)
		seen += int(page.NumRows())
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
	if seen != rows || len(c.defs) > 0 && len(c.defs) != rows {
		return fmt.Errorf("it has %d rows, want %d", seen, rows)
	}
	return nil
}

func (c *column) addPage(page parquet.Page, rows int) error {
	if defs := page.DefinitionLevels(); len(defs) > 0 {
		c.defs = append(c.defs, defs...)
	}
	data := page.Data()
	values := int(page.NumValues() - page.NumNulls())
	if page.NumNulls() > 0 {
		rows = values // a column with few values must not have memory for all rows, which blocks would keep
	}
	if dict := page.Dictionary(); dict != nil {
		if c.dictionary == nil {
			for i := range dict.Len() {
				c.dictionary = append(c.dictionary, string(dict.Index(int32(i)).ByteArray()))
			}
		}
		if c.texts == nil {
			c.texts = make([]string, 0, rows)
		}
		for _, at := range data.Int32() {
			c.texts = append(c.texts, c.dictionary[at])
		}
		c.count += values
		return nil
	}
	switch page.Type().Kind() {
	case parquet.Int64:
		if c.ints == nil {
			c.ints = make([]int64, 0, rows)
		}
		c.ints = append(c.ints, data.Int64()...)
	case parquet.FixedLenByteArray:
		bytes, size := data.FixedLenByteArray()
		if size != wideBytes {
			return fmt.Errorf("values of %d bytes", size)
		}
		c.bytes = append(c.bytes, bytes...)
	case parquet.ByteArray:
		bytes, offsets := data.ByteArray()
		for i := range values {
			c.texts = append(c.texts, string(bytes[offsets[i]:offsets[i+1]]))
		}
	case parquet.Boolean:
		bits := data.Boolean()
		for i := range values {
			if at := c.count + i; at/8 == len(c.bools) {
				c.bools = append(c.bools, 0)
			}
			if bits[i/8]>>(i%8)&1 == 1 {
				c.bools[(c.count+i)/8] |= 1 << ((c.count + i) % 8)
			}
		}
	default:
		return fmt.Errorf("values of kind %s", page.Type().Kind())
	}
	c.count += values
	return nil
}

func (c *column) has(row int) bool { return len(c.defs) == 0 || c.defs[row] == 1 }
