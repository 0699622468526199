package uplink

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
)

// lines has readings as NDJSON, one per line.
type lines struct{ rows [][]byte }

// add splits a text into lines, and appends each one with its line feed.
func (l *lines) add(text []byte) {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		l.rows = append(l.rows, text[:end])
		text = text[end:]
	}
}

func (l *lines) len() int { return len(l.rows) }

func (l *lines) row(i int) []byte { return l.rows[i] }

// text returns the first n readings.
func (l *lines) text(n int) []byte { return bytes.Join(l.rows[:n], nil) }

// remove removes the first n readings.
func (l *lines) remove(n int) { l.rows = l.rows[n:] }

// replace puts the readings in the argument left in the place of the first n readings.
func (l *lines) replace(n int, left retryable) {
	l.rows = append(append(make([][]byte, 0, len(left.rows)+len(l.rows)-n), left.rows...), l.rows[n:]...)
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
