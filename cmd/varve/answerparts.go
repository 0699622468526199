package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"

	"github.com/varvedb/varve/api/wire"
)

// beginning holds the beginning and the end of an answer in memory, and counts the lines of the answer.
type beginning struct {
	text []byte // the first bytes of the answer, at most 64
	last []byte // the last bytes of the answer, at most lastBytes
	rows int    // number of lines in the answer; CSV and JSON without readings have one line
	size int    // number of bytes in the answer

	isCSV    bool // whether line ends in quotes do not end a row
	isQuoted bool // whether the last byte of an answer in CSV is in quotes
}

// lastBytes is the maximum length of beginning.last. Coverage and notes are longer only if a query
// reads thousands of tables, or names thousands of missing fields.
const lastBytes = 512 << 10

func (b *beginning) Write(p []byte) (int, error) {
	b.countRows(p)
	b.size += len(p)
	if most := 64 - len(b.text); most > 0 {
		b.text = append(b.text, p[:min(most, len(p))]...)
	}
	b.last = append(b.last, p[max(0, len(p)-lastBytes):]...)
	b.last = b.last[max(0, len(b.last)-lastBytes):]
	return len(p), nil
}

func (b *beginning) countRows(p []byte) {
	if !b.isCSV {
		b.rows += bytes.Count(p, []byte{'\n'})
		return
	}
	for {
		part, rest, found := bytes.Cut(p, []byte{'"'})
		if !b.isQuoted {
			b.rows += bytes.Count(part, []byte{'\n'})
		}
		if !found {
			return
		}
		b.isQuoted, p = !b.isQuoted, rest
	}
}

// notesOf returns the notes on an answer: from its trailer, or the last property of its JSON.
func notesOf(resp *http.Response, seen *beginning) (notes []wire.Note, err error) {
	if text := resp.Trailer.Get("Varve-Notes"); text != "" {
		return notes, json.Unmarshal([]byte(text), &notes)
	}
	const member = `,"notes":`
	at := bytes.LastIndex(seen.last, []byte(member))
	text, whole := bytes.CutSuffix(seen.last, []byte("}\n"))
	if at < 0 || !whole || json.Unmarshal(text[at+len(member):], &notes) != nil {
		return nil, nil //nolint:nilerr // another text of the answer looks like the property
	}
	return notes, nil
}

// coverageOf returns the coverage of an answer: from its trailer, or from a property at the end of its
// JSON. It returns nil if the answer has none.
func coverageOf(resp *http.Response, seen *beginning) []byte {
	if text := resp.Trailer.Get("Varve-Coverage"); text != "" {
		return []byte(text)
	}
	const member = `,"coverage":`
	at := bytes.LastIndex(seen.last, []byte(member))
	if at < 0 {
		return nil
	}
	text := seen.last[at+len(member):]
	d := json.NewDecoder(bytes.NewReader(text))
	var cover json.RawMessage
	if d.Decode(&cover) != nil {
		return nil
	}
	// If anything but notes follows, the property belongs to a value of a reading, and the answer has no
	// coverage.
	if rest := text[d.InputOffset():]; string(rest) != "}\n" && !bytes.HasPrefix(rest, []byte(`,"notes":`)) {
		return nil
	}
	return cover
}

// empty reports whether the answer has no readings, in any format.
func (b *beginning) empty() bool {
	if bytes.HasPrefix(b.text, []byte(`{"readings":[`)) {
		return bytes.HasPrefix(b.text, []byte(`{"readings":[]`))
	}
	if schema, ok := bytes.CutPrefix(b.text, []byte("\xff\xff\xff\xff")); ok && len(schema) >= 4 {
		// An Arrow stream without readings has only a schema and an end. Each takes 8 bytes,
		// besides the text of the schema.
		return b.size == 8+int(binary.LittleEndian.Uint32(schema))+8
	}
	return len(b.text) == 0 || bytes.HasPrefix(b.text, []byte(`{"time":[]`)) || bytes.HasPrefix(b.text, []byte("time,")) && b.rows <= 1
}
