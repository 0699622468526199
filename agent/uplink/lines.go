package uplink

import (
	"bytes"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// lines has readings as NDJSON, one per line.
type lines struct{ rows []row }

// row is one line, with the index of its record in the batch.
type row struct {
	text   []byte
	record int
}

// add splits the text of a record into lines, and appends each one with its line feed.
func (l *lines) add(text []byte, record int) {
	l.rows = slices.Grow(l.rows, bytes.Count(text, []byte{'\n'})+1)
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		l.rows = append(l.rows, row{text[:end], record})
		text = text[end:]
	}
}

func (l *lines) len() int { return len(l.rows) }

func (l *lines) row(i int) []byte { return l.rows[i].text }

func (l *lines) remove(n int) { l.rows = l.rows[n:] }

// replace removes the first n readings, and puts the readings of the argument "left" in their place.
func (l *lines) replace(n int, left retryable) {
	l.rows = append(append(make([]row, 0, len(left.rows)+len(l.rows)-n), left.rows...), l.rows[n:]...)
}

// packer compresses bodies, one after another.
type packer struct {
	out bytes.Buffer
	zip *gzip.Writer
}

// pack returns the compressed text of rows. It has memory of its own, because a failed request may still
// read it.
func (p *packer) pack(rows []row) ([]byte, error) {
	p.out.Reset()
	if p.zip == nil {
		var err error
		if p.zip, err = gzip.NewWriterLevel(&p.out, gzip.BestSpeed); err != nil {
			return nil, err
		}
	} else {
		p.zip.Reset(&p.out)
	}
	for _, r := range rows {
		if _, err := p.zip.Write(r.text); err != nil {
			return nil, err
		}
	}
	if err := p.zip.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(p.out.Bytes()), nil
}
