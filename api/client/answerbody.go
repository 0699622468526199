package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/varvedb/varve/api/wire"
)

// errorLine is the newline before a line with an error, and the beginning of this line.
var errorLine = []byte("\n" + wire.ErrorLinePrefix)

const maxErrorLine = 64 << 10

// ndjsonBody is the body of an answer in NDJSON. If the answer ends with a line that has an error, Read
// returns this error instead of the line.
type ndjsonBody struct {
	io.ReadCloser
	buf   []byte // buf[0] is the last byte that Read returned, or at first a newline; unread bytes follow
	ready int    // number of bytes of buf that a Read may return
	err   error  // returned after all ready bytes
}

// withErrorLine makes the body of an answer in NDJSON return the error in its last line, if any. If resp
// is nil, withErrorLine returns nil.
func withErrorLine(resp *http.Response, f wire.Format) *http.Response {
	if resp != nil && f == wire.NDJSON {
		resp.Body = &ndjsonBody{ReadCloser: resp.Body, buf: []byte("\n")}
	}
	return resp
}

func (b *ndjsonBody) Read(p []byte) (int, error) {
	for b.ready == 0 && b.err == nil {
		b.receive()
	}
	if b.ready == 0 {
		return 0, b.err
	}
	n := copy(p, b.buf[1:1+b.ready])
	b.buf, b.ready = b.buf[n:], b.ready-n
	return n, nil
}

// receive reads a part of the body. It withholds bytes that may be the beginning of a line with an error.
func (b *ndjsonBody) receive() {
	part := make([]byte, 32<<10)
	n, err := b.ReadCloser.Read(part)
	b.buf = append(bytes.Clone(b.buf), part[:n]...)
	if i := bytes.Index(b.buf, errorLine); i >= 0 {
		rest, _ := io.ReadAll(io.LimitReader(b.ReadCloser, maxErrorLine)) // an error is expected, because the server cuts the answer off
		b.ready, b.err = i, lineError(append(b.buf[i+1:len(b.buf):len(b.buf)], rest...))
		return
	}
	b.ready, b.err = len(b.buf)-1, err
	if last := bytes.LastIndexByte(b.buf, '\n'); err == nil && last >= 0 && len(b.buf)-last < len(errorLine) && bytes.HasPrefix(errorLine, b.buf[last:]) {
		b.ready = last
	}
}

func lineError(line []byte) error {
	var body wire.ErrorLine
	if err := json.Unmarshal(line, &body); err != nil {
		return fmt.Errorf("its last line has an error that cannot be read: %w", err)
	}
	return problemError(&body.Error, http.Header{})
}
