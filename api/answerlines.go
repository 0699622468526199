package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// answerLines writes an answer line by line, while the work that produces the lines continues.
type answerLines struct {
	control *http.ResponseController
	w       http.ResponseWriter
	gone    context.CancelCauseFunc
	last    time.Time
}

// begin sends the head of the answer, so that the client gets it before the first line.
func (l *answerLines) begin() error {
	l.w.Header().Set("Content-Type", "application/x-ndjson")
	l.w.WriteHeader(http.StatusOK)
	l.last = time.Now()
	// Clear the deadline for reading the request. Otherwise the answer would end at that deadline.
	return errors.Join(ignoreUnsupported(l.control.SetReadDeadline(time.Time{})), ignoreUnsupported(l.control.Flush()))
}

// rested returns the time since the last line, or the head of the answer, was sent.
func (l *answerLines) rested() time.Duration { return time.Since(l.last) }

// send writes a line. It calls gone if the client disconnected, or does not read the line within limits.stall.
func (l *answerLines) send(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		text = []byte(`{"error":"the line cannot be shown"}`)
	}
	l.last = time.Now()
	if _, err := l.w.Write(append(text, '\n')); err != nil {
		l.gone(err)
		return
	}
	if err := l.control.Flush(); err != nil {
		l.gone(err)
	}
}

// ignoreUnsupported returns nil if err is http.ErrNotSupported. It returns any other error
// unchanged.
func ignoreUnsupported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
