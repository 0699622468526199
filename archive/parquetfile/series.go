package parquetfile

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/parquet-go/parquet-go"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// OpenRanges opens a file from some of its ranges. They must include its footer.
func OpenRanges(r *Ranges) (rd *Reader, err error) {
	defer recoverPanic(&err)
	return open(r, r.Length, parquet.SkipMagicBytes(true))
}

// ReadSeries returns the readings of a series in a row group, or nil if it has none. It decodes the
// tenants, streams and devices of all rows. Of the other columns, it decodes only the pages with rows of
// the series.
func (rd *Reader) ReadSeries(group int, of varve.Series) (b *block.Block, err error) {
	defer recoverPanic(&err)
	g := rd.file.RowGroups()[group]
	chunks, rows := g.ColumnChunks(), int(g.NumRows())
	columns := make([]column, rd.layout.columns())
	for c := range colTime {
		if err := columns[c].read(chunks[c], rows); err != nil {
			return nil, fmt.Errorf("%w: row group %d, column %d: %w", ErrMalformed, group, c, err)
		}
		if len(columns[c].texts) != rows {
			return nil, fmt.Errorf("%w: row group %d: a required column has no value", ErrMalformed, group)
		}
	}
	seriesAt := func(row int) varve.Series {
		return varve.Series{Tenant: columns[colTenant].texts[row], Stream: columns[colStream].texts[row], Device: columns[colDevice].texts[row]}
	}
	from := sort.Search(rows, func(row int) bool { return seriesAt(row).Compare(of) >= 0 })
	to := from + sort.Search(rows-from, func(n int) bool { return seriesAt(from+n).Compare(of) > 0 })
	if from == to {
		return nil, nil
	}
	for c := colTime; c < len(columns); c++ {
		if err := columns[c].readRows(chunks[c], from, to); err != nil {
			return nil, fmt.Errorf("%w: row group %d, column %d: %w", ErrMalformed, group, c, err)
		}
	}
	return assembleSeries(rd.layout, columns, of, to-from)
}

// assembleSeries forms a block of the series from the rows that readRows has read into the columns.
func assembleSeries(l *layout, columns []column, of varve.Series, rows int) (*block.Block, error) {
	for _, c := range []int{colTime, colArrived} {
		if next := columns[c].next; len(columns[c].ints) < next+rows {
			return nil, fmt.Errorf("%w: series %s: a required column has no value", ErrMalformed, of)
		}
	}
	times, arrived := &columns[colTime], &columns[colArrived]
	b := &block.Block{Series: of, Times: times.ints[times.next:][:rows], Arrived: arrived.ints[arrived.next:][:rows]}
	a := assembly{layout: l, columns: columns, exact: true}
	if err := a.fill(b, 0, rows); err != nil {
		return nil, fmt.Errorf("%w: series %s: %w", ErrMalformed, of, err)
	}
	return b, nil
}

// readRows reads the pages of a column that have the rows in [from, to). Afterward, defs is empty or begins
// with the first of these rows, and next is the index of the first value in the range.
func (c *column) readRows(chunk parquet.ColumnChunk, from, to int) (err error) {
	pages := chunk.Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	at := firstPage(chunk, from)
	if at > 0 {
		if err := pages.SeekToRow(int64(at)); err != nil {
			return err
		}
	}
	begin := at
	for at < to {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it ends at row %d, want %d: %w", at, to, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		err = c.addPage(page, to-begin)
		at += int(page.NumRows())
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
	if len(c.defs) == 0 {
		c.next = from - begin
		return nil
	}
	if len(c.defs) != at-begin {
		return fmt.Errorf("it has definitions of %d rows, want %d", len(c.defs), at-begin)
	}
	for _, d := range c.defs[:from-begin] {
		c.next += int(d)
	}
	c.defs = c.defs[from-begin : to-begin]
	return nil
}

// firstPage returns the number of the first row of the page that contains the given row. If the
// file has no index of pages, the result is 0.
func firstPage(chunk parquet.ColumnChunk, row int) int {
	index, err := chunk.OffsetIndex()
	if err != nil || index == nil {
		return 0 // readRows then reads the pages from the first one
	}
	n := sort.Search(index.NumPages(), func(i int) bool { return index.FirstRowIndex(i) > int64(row) })
	if n == 0 {
		return 0
	}
	return int(index.FirstRowIndex(n - 1))
}
