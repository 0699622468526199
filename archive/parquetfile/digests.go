package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/varvedb/varve"
)

// DayDigest counts the readings of a series and a day.
type DayDigest struct {
	Series   varve.Series
	Day      int32 // days since 1970, UTC
	Readings int64
	Digest   uint64 // sum of the hashes of the readings, modulo 2^64
}

type dayRow struct {
	Tenant   string `parquet:"tenant,dict"`
	Stream   string `parquet:"stream,dict"`
	Device   string `parquet:"device,dict"`
	Day      int32  `parquet:"day,date"`
	Readings int64  `parquet:"readings"`
	Digest   uint64 `parquet:"digest"`
}

// DigestWriter writes a file of digests.
type DigestWriter struct {
	body   bytes.Buffer
	writer *parquet.GenericWriter[dayRow]
	rows   int64
}

// NewDigestWriter returns a writer of a file of digests.
func NewDigestWriter() *DigestWriter {
	w := &DigestWriter{}
	w.writer = parquet.NewGenericWriter[dayRow](&w.body, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(GroupRows), parquet.KeyValueMetadata(metaSchema, SchemaVersion), parquet.CreatedBy("varve", SchemaVersion, ""))
	return w
}

// Add adds the digest of a series and a day as a row.
func (w *DigestWriter) Add(d DayDigest) error {
	w.rows++
	_, err := w.writer.Write([]dayRow{{d.Series.Tenant, d.Series.Stream, d.Series.Device, d.Day, d.Readings, d.Digest}})
	return err
}

// Close returns the file and the number of its rows.
func (w *DigestWriter) Close() (body []byte, rows int64, err error) {
	err = w.writer.Close()
	return w.body.Bytes(), w.rows, err
}

// DigestReader reads a file of digests, row by row.
type DigestReader struct {
	reader *parquet.GenericReader[dayRow]
	rows   []dayRow
	end    bool
}

// OpenDigests opens a file of digests.
func OpenDigests(body []byte) (r *DigestReader, err error) {
	defer recoverPanic(&err)
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return &DigestReader{reader: parquet.NewGenericReader[dayRow](f)}, nil
}

// Next returns the next row, or false after the last one.
func (r *DigestReader) Next() (d DayDigest, ok bool, err error) {
	defer recoverPanic(&err)
	if len(r.rows) == 0 && !r.end {
		rows := make([]dayRow, 1024)
		n, err := r.reader.Read(rows)
		if err != nil && !errors.Is(err, io.EOF) {
			return d, false, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		r.rows, r.end = rows[:n], err != nil
	}
	if len(r.rows) == 0 {
		return d, false, r.reader.Close()
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	s := varve.Series{Tenant: row.Tenant, Stream: row.Stream, Device: row.Device}
	return DayDigest{Series: s, Day: row.Day, Readings: row.Readings, Digest: row.Digest}, true, nil
}
