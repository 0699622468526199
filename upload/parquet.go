package upload

import (
	"errors"
	"io"
	"os"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/archive/parquetfile"
)

// parquetForm stands for a Parquet file of varve export or of an archive. Its plain text is NDJSON.
const parquetForm compression = "parquet"

// FormatParquet is the name of the format of Parquet files. Only files can have it, because it requires
// random access.
const FormatParquet = "parquet"

const parquetExtension = "." + FormatParquet

// parquetText returns the readings of a Parquet file as NDJSON with devices.
func parquetText(r io.Reader) (io.Reader, func() error, error) {
	f, ok := r.(*os.File)
	if !ok {
		return nil, nil, errors.New("a Parquet file cannot be read from standard input: name the file")
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	in, err := parquetfile.Open(f, info.Size())
	if err != nil {
		return nil, nil, err
	}
	text := &parquetReader{in: in}
	return text, func() error { return nil }, nil
}

// parquetReader converts one row group at a time to NDJSON.
type parquetReader struct {
	in    *parquetfile.Reader
	group int
	rest  []byte
	buf   []byte
	table wire.Writer
}

func (p *parquetReader) Read(dst []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.group == p.in.Groups() {
			return 0, io.EOF
		}
		if err := p.nextGroup(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *parquetReader) nextGroup() error {
	blocks, err := p.in.ReadGroup(p.group, true)
	if err != nil {
		return err
	}
	p.group++
	p.buf = p.buf[:0]
	var r varve.Reading
	for _, b := range blocks {
		for i := range b.Len() {
			b.Fill(i, &r)
			p.buf = append(p.table.AppendChange(p.buf, &r), '\n')
		}
	}
	p.rest = p.buf
	return nil
}
