package parquetfile

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/varvedb/varve"
)

// Group describes a row group and its range in a file. The bytes after the last group are the footer.
type Group struct {
	Offset, Size int64
	Readings     int64
	First        varve.Series // series of the first row
	Last         varve.Series // series of the last row
	From, To     time.Time    // event times of the rows: From <= time <= To
}

// placeGroups sets the offsets and sizes of the groups of a complete file.
func placeGroups(body []byte, groups []Group) error {
	rd, err := Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	stored := rd.file.Metadata().RowGroups
	if len(stored) != len(groups) {
		return fmt.Errorf("the file has %d row groups, want %d", len(stored), len(groups))
	}
	at := int64(len(magic))
	for i := range stored {
		size := int64(0)
		for c := range stored[i].Columns {
			size += stored[i].Columns[c].MetaData.TotalCompressedSize
		}
		groups[i].Offset, groups[i].Size = at, size
		at += size
	}
	return nil
}

// magic is the beginning of every file.
const magic = "PAR1"

// Ranges is an io.ReaderAt over some ranges of a file. A read of other bytes fails.
type Ranges struct {
	Length int64 // length of the whole file
	known  []span
}

type span struct {
	offset int64
	body   []byte
}

// Add adds bytes of the file. The first one is at the offset.
func (r *Ranges) Add(offset int64, body []byte) { r.known = append(r.known, span{offset, body}) }

// ReadAt implements io.ReaderAt.
func (r *Ranges) ReadAt(p []byte, at int64) (int, error) {
	for _, s := range r.known {
		if at >= s.offset && at+int64(len(p)) <= s.offset+int64(len(s.body)) {
			return copy(p, s.body[at-s.offset:]), nil
		}
	}
	return 0, fmt.Errorf("%d bytes at %d of %d were not fetched: %w", len(p), at, r.Length, io.ErrUnexpectedEOF)
}
