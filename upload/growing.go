package upload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"time"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/fileerr"
)

// writingFor is the time after a change of a file during which its last line may be unfinished.
const writingFor = 10 * time.Second

// grows reports whether lines may be appended to the source. CSV with one value per row is excluded,
// because the rows of one reading may be appended at different times.
func (s *Source) grows(c *wire.Columns) bool {
	lines := s.format == wire.CSV && c.Name == "" || s.format == wire.NDJSON || s.format == wire.Line
	return lines && s.compression == "" && s.stdin == nil
}

// endAtLine limits the reading of a regular file to its present size, unless it is compressed or JSON. If
// the file changed less than writingFor ago, text after its last line feed is excluded, too, and the result
// "changing" is true.
func (s *Source) endAtLine(r *file) (changing bool, err error) {
	raw, ok := r.raw.(*os.File)
	if !ok || s.format == wire.JSON {
		return false, nil
	}
	info, err := raw.Stat()
	if err != nil {
		return false, fileerr.Short(err)
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	s.size, s.mtime = info.Size(), info.ModTime().UnixNano()
	end := s.size
	if changing = time.Since(info.ModTime()) < writingFor; changing {
		if end, err = lastLineEnd(raw, s.size); err != nil {
			return false, err
		}
		if end == 0 && s.format == wire.CSV {
			end = s.size // the header is read even if its line has no line feed yet
		}
	}
	section := io.NewSectionReader(raw, 0, end)
	r.Reader, r.raw = section, section
	return changing, nil
}

// lastLineEnd returns the offset after the last newline in the first bytes of a file, or 0 if they have
// none. The argument "size" is the number of these bytes.
func lastLineEnd(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		from := max(0, end-int64(len(buf)))
		part := buf[:end-from]
		if _, err := f.ReadAt(part, from); err != nil {
			return 0, fileerr.Short(err)
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// prefix is the hash of the beginning of an open file. The path of the file may name another file meanwhile.
type prefix struct {
	file   io.ReaderAt
	hash   hash.Hash
	offset int64
}

// prefixOf returns the empty prefix of a file to which lines may be appended. For any other file, and for a
// file that endAtLine has not limited, it returns nil.
func (s *Source) prefixOf(r *file, c *wire.Columns) *prefix {
	section, ok := r.raw.(*io.SectionReader)
	if !ok || !s.grows(c) {
		return nil
	}
	return &prefix{file: section, hash: sha256.New()}
}

// extend returns the hash of the bytes before an offset, which must not decrease from call to call. If a byte is
// missing, the file was truncated meanwhile. Then, and for a nil prefix, extend returns "".
func (p *prefix) extend(to int64) string {
	if p == nil {
		return ""
	}
	n, err := io.Copy(p.hash, io.NewSectionReader(p.file, p.offset, to-p.offset))
	if p.offset += n; err != nil || p.offset < to {
		return "" // without a hash, the next run sends the file from its start
	}
	return hex.EncodeToString(p.hash.Sum(nil))
}

// endsLine reports whether the last hashed byte is a line feed.
func (p *prefix) endsLine() bool {
	var last [1]byte
	_, err := p.file.ReadAt(last[:], p.offset-1)
	return err == nil && last[0] == '\n'
}
