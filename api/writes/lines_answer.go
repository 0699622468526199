package writes

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/ingest"
)

const maxListedLines = 100

// maxLineText is the maximum length in bytes of the text of a rejected line in an answer.
const maxLineText = 512

type lineRejects struct {
	list        []wire.InfluxLine
	retry       bool // if true, a rejected line may be stored if the client resends it later
	whole       bool // if true, no line of the write was stored
	number      int64
	firstReason string
}

func (l *lineRejects) add(r ingest.Rejection) {
	l.retry = l.retry || r.Verdict.Code.Retryable()
	reason := string(r.Verdict.Code) + ": " + r.Verdict.Message
	if l.number++; l.number == 1 {
		l.firstReason = fmt.Sprintf("line %d: %s", r.Line, reason)
	}
	if len(l.list) < maxListedLines {
		text := r.Text
		if len(text) > maxLineText {
			text = text[:maxLineText]
		}
		l.list = append(l.list, wire.InfluxLine{Number: r.Line, Line: string(text), Message: reason})
	}
}

// answer writes 204 if no line was rejected, 503 if some rejected lines may be stored later, and
// otherwise 400.
func (l *lineRejects) answer(w http.ResponseWriter, r *http.Request, session *ingest.Session) {
	setLate(w, session)
	if l.number == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	counts := fmt.Sprintf("%d of %d lines were rejected", l.number, session.Tally.Total())
	body := wire.InfluxError{
		Code: "invalid", Line: l.list[0].Number, Lines: l.list,
		Message: "partial write: " + counts + ": " + l.firstReason,
		Error:   "partial write of line protocol occurred: " + counts + ": " + l.firstReason,
	}
	switch {
	case l.whole:
		invalid := "1 line is invalid"
		if l.number > 1 {
			invalid = fmt.Sprintf("%d lines are invalid", l.number)
		}
		body.Message = "unable to parse: " + invalid + ", and no line was stored: " + l.firstReason
		body.Error = "line protocol parsing error: " + l.firstReason
	case l.retry:
		body.Code = "unavailable"
	}
	if more := l.number - int64(len(l.list)); more > 0 {
		body.Message += fmt.Sprintf("; %d more are not listed", more)
	}
	status := http.StatusBadRequest
	if l.retry {
		status = http.StatusServiceUnavailable
		setRetryAfter(w, r, 1)
	}
	WriteLines(w, status, body)
}

// setRetryAfter sets the header Retry-After. InfluxData's library for JavaScript reads its value as
// milliseconds. Given seconds, the library would use up all its retries within milliseconds.
func setRetryAfter(w http.ResponseWriter, r *http.Request, seconds int) {
	if strings.HasPrefix(r.UserAgent(), "influxdb-client-js/") {
		seconds *= 1000
	}
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
}

// influxCodes maps HTTP statuses to the error codes of InfluxDB 2.
var influxCodes = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
	http.StatusNotFound: "not found", http.StatusMethodNotAllowed: "method not allowed", http.StatusConflict: "conflict",
	http.StatusRequestEntityTooLarge: "request too large", http.StatusUnsupportedMediaType: "unsupported media type",
	http.StatusServiceUnavailable: "unavailable", http.StatusInternalServerError: "internal error",
}

// FailLines answers with an error in the form of InfluxDB. If Varve is busy or the body stalled, the
// status is 503, because clients discard their lines after a status such as 429.
func FailLines(w http.ResponseWriter, r *http.Request, e *varve.Error, status int) {
	switch {
	case e.Failure == varve.Busy, errors.Is(e.Err, ErrStalled):
		status = http.StatusServiceUnavailable
	case influxCodes[status] == "":
		status = http.StatusInternalServerError
	}
	message := e.Message
	if e.Param != "" {
		message = e.Param + ": " + message
	}
	if status == http.StatusServiceUnavailable {
		setRetryAfter(w, r, max(1, int(e.RetryAfter.Seconds()+0.999)))
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="varve"`)
	}
	WriteLines(w, status, wire.InfluxError{Code: influxCodes[status], Message: message, Error: message})
}

// WriteLines answers a client of InfluxDB with a status and a body.
func WriteLines(w http.ResponseWriter, status int, body any) {
	// Every body of these answers can be marshaled.
	text, _ := wire.MarshalJSON(body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeBytes(w, append(text, '\n'))
}

// writeBytes writes a part of an answer. It ignores errors: a client that disconnected needs no
// answer.
func writeBytes(w http.ResponseWriter, p []byte) { _, _ = w.Write(p) }
