package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// answerBytes limits the length of an answer. To this, answerBytesPerReading is added as many times as
	// a request may have readings, because each may have a reject.
	answerBytes           = 1 << 20
	answerBytesPerReading = 2 << 10
	// answerLimit is the longest time for the body of an answer.
	answerLimit = 5 * time.Minute
)

var (
	errLongAnswer = errors.New("the answer is too long: check that server.url is a Varve server")
	errSlowAnswer = errors.New("the answer is too slow: check that server.url is a Varve server")
)

// limitAnswers returns a transport that limits the length and the time of answers. Otherwise, a broken server
// could fill the memory or stop the upload.
func limitAnswers(t http.RoundTripper, bytes int64) http.RoundTripper { return answerLimiter{t, bytes} }

type answerLimiter struct {
	transport http.RoundTripper
	bytes     int64
}

// RoundTrip implements http.RoundTripper.
func (l answerLimiter) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	answer, err := l.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	timer := time.AfterFunc(answerLimit, func() { cancel(errSlowAnswer) })
	answer.Body = &limitedBody{ReadCloser: answer.Body, left: l.bytes, release: func() { timer.Stop(); cancel(nil) }}
	return answer, nil
}

// limitedBody is a body whose Read fails after some bytes.
type limitedBody struct {
	io.ReadCloser
	left    int64
	release func()
}

// Read fails with errLongAnswer once the body has reached its limit.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 && len(p) > 0 {
		return 0, errLongAnswer
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// Close closes the body and ends the time limit.
func (b *limitedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
