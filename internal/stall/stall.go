// Package stall bounds the time in which clients of HTTP make no progress.
//
//	client ──▶ body ────▶ handler
//	client ◀── writer ◀── handler
//
// [Handler] wraps the handler of a server. The limits apply only while the wrapped handler reads or
// writes. A handler may take longer between two reads or writes, because HTTP/2 would otherwise end
// its stream.
//
// A read beyond its time fails with os.ErrDeadlineExceeded, and a write beyond its time with an
// error that depends on the version of HTTP. Connections without deadlines, as in tests,
// are not limited.
package stall

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Limits bounds the time of a request.
type Limits struct {
	// Stall is the time within which a client must send some bytes, or accept a piece of the answer.
	Stall time.Duration
	// Body is the time within which a client must send the whole body.
	Body time.Duration
}

// piece is the number of bytes of an answer that a client must accept within Limits.Stall.
const piece = 128 << 10

// Handler returns a handler that calls next, and cuts off clients that exceed the limits.
func Handler(next http.Handler, l Limits) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &writer{ResponseWriter: w, control: http.NewResponseController(w), stall: l.Stall}
		out.limit(time.Time{}) // the connection may have the deadline of its last answer
		if r.Body != nil && r.Body != http.NoBody {
			limited := *r
			limited.Body = &body{ReadCloser: r.Body, control: out.control, stall: l.Stall, until: time.Now().Add(l.Body)}
			r = &limited
		}
		next.ServeHTTP(out, r)
		out.extend() // the server sends the rest of the answer after this return
	})
}

// writer is a ResponseWriter that gives the client time for each piece of the answer.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func (w *writer) Write(p []byte) (n int, err error) {
	for {
		w.extend()
		part, err := w.ResponseWriter.Write(p[n:min(n+piece, len(p))])
		n += part
		if err != nil || n == len(p) {
			w.limit(time.Time{})
			return n, err
		}
	}
}

// FlushError implements the method that http.ResponseController calls.
func (w *writer) FlushError() error {
	w.extend()
	defer w.limit(time.Time{})
	return w.control.Flush()
}

// Unwrap returns the wrapped writer, so that http.ResponseController reaches the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) extend() { w.limit(time.Now().Add(w.stall)) }

// limit sets the deadline of writes. It ignores errors: a connection without deadlines is not
// limited, and a closed one fails with the next write.
func (w *writer) limit(until time.Time) { _ = w.control.SetWriteDeadline(until) }

// body is a body that gives the client time for each read. Between reads, the connection has only
// the deadline of the whole body. At the end of the body, it has none.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
	until   time.Time
	failed  bool
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.extend(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	next := b.until
	switch {
	case errors.Is(err, io.EOF):
		next = time.Time{}
	case err != nil:
		b.failed = true
		return n, err // the deadline stays, so that the server does not wait for the rest
	}
	if late := b.limit(next); late != nil {
		err = late
	}
	return n, err
}

// Close discards the rest of a short body, so that the connection can serve another request. The
// client gets time for that, unless a read has failed.
func (b *body) Close() error {
	if b.failed {
		return b.ReadCloser.Close()
	}
	if err := b.extend(); err != nil {
		return err
	}
	return errors.Join(b.ReadCloser.Close(), b.limit(time.Time{}))
}

func (b *body) extend() error {
	deadline := time.Now().Add(b.stall)
	if deadline.After(b.until) {
		deadline = b.until
	}
	return b.limit(deadline)
}

// limit sets the deadline of reads. A connection without deadlines is not limited.
func (b *body) limit(until time.Time) error {
	if err := b.control.SetReadDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
