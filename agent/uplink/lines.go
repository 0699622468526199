package uplink

import (
	"bytes"

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

// text returns the first n readings.
func (l *lines) text(n int) []byte {
	size := 0
	for _, r := range l.rows[:n] {
		size += len(r.text)
	}
	text := make([]byte, 0, size)
	for _, r := range l.rows[:n] {
		text = append(text, r.text...)
	}
	return text
}

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

// pack returns a compressed copy. The copy has memory of its own, because a failed request may still
// read it.
func (p *packer) pack(text []byte) ([]byte, error) {
	p.out.Reset()
	if p.zip == nil {
		var err error
		if p.zip, err = gzip.NewWriterLevel(&p.out, gzip.BestSpeed); err != nil {
			return nil, err
		}
	} else {
		p.zip.Reset(&p.out)
	}
	if _, err := p.zip.Write(text); err != nil {
		return nil, err
	}
	if err := p.zip.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(p.out.Bytes()), nil
}
