package writes

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/ingest"
)

// Options are the parts that handlers of writes need.
type Options struct {
	Ingester *ingest.Ingester
	// MaxBody is the maximum length of a body after decompression, in bytes.
	MaxBody int64
	// RejectBytes limits the size in bytes of the rejections that an answer of Readings lists. 0 means no
	// limit except wire.MaxRejects.
	RejectBytes int
	// Lines assigns the tags of line protocol. If nil, the default mapping applies.
	Lines *wire.LineMapping
	Now   func() time.Time
	// Grant returns the rights of a request.
	Grant func(r *http.Request) *apikeys.Grant
	// Fail answers a request that failed as a whole. The tally is nil, or has the counts before the
	// error.
	Fail func(w http.ResponseWriter, r *http.Request, err error, tally *wire.Tally)
}

// Readings serves POST /v1/streams/{stream}/readings and POST /v1/readings.
type Readings struct{ Options }

// maxRejectBytes limits the total size of rejections with stored values. Beyond it, an answer
// omits the stored values of conflicts.
const maxRejectBytes = 2 << 20

// rejections collects the rejected readings of one answer.
type rejections struct {
	text   []byte // the elements of a JSON array, without its brackets
	limit  int    // length of text from which no further rejection is listed; 0 means no limit
	listed int
	out    []byte // buffer for the rest of the answer
}

var rejectionLists = sync.Pool{New: func() any { return new(rejections) }}

func (l *rejections) release() {
	*l = rejections{text: l.text[:0], out: l.out[:0]}
	rejectionLists.Put(l)
}

// Post serves POST /v1/streams/{stream}/readings and POST /v1/readings.
func (h *Readings) Post(w http.ResponseWriter, r *http.Request) {
	list := rejectionLists.Get().(*rejections)
	defer list.release()
	list.limit = h.RejectBytes
	session, err := h.Ingester.Begin(h.Grant(r))
	if err != nil {
		h.Fail(w, r, err, &wire.Tally{})
		return
	}
	defer session.Close()
	if err := h.readBody(r, session, list); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = varve.Errorf(varve.Invalid, "the body was cut off: what came before is counted here, send the rest again")
		}
		h.Fail(w, r, err, &session.Tally)
		return
	}
	list.answer(w, session)
}

// readBody stores the readings of the body. An error means that the rest of the body was not stored.
func (h *Readings) readBody(r *http.Request, session *ingest.Session, list *rejections) error {
	defaults, columns, arrival, err := defaultsOf(r, h.Grant(r).Tenant)
	if err != nil {
		return err
	}
	asked := r.URL.Query()
	format, err := bodyFormat(r, asked)
	if err != nil {
		return err
	}
	if defaults.Stream == "" && format != wire.Line {
		return varve.InvalidParam("query.format", "readings in %s name no stream: use POST /v1/streams/{stream}/readings", format)
	}
	arrived := h.Now()
	defaults.Lines, defaults.Now = h.Lines, func() time.Time { return arrived }
	r.Body = session.Body(r.Context(), r.Body)
	body, err := OpenBody(r, h.MaxBody)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // stored readings are unaffected by an error here
	return session.Read(r.Context(), &ingest.Source{
		Format: format, Body: body, Defaults: defaults, Columns: columns, ArrivalIsTime: arrival,
		Large: r.ContentLength > ingest.SmallBody, Rejected: list.add,
	})
}

// add adds a rejection to the answer, up to wire.MaxRejects and the limit of the list.
func (l *rejections) add(r ingest.Rejection) {
	v := r.Verdict
	if l.listed == wire.MaxRejects || l.limit > 0 && len(l.text) >= l.limit {
		return
	}
	if l.listed > 0 {
		l.text = append(l.text, ',')
	}
	l.listed++
	l.text = append(l.text, `{"index":`...)
	l.text = strconv.AppendInt(l.text, r.Index, 10)
	if r.Line > 0 {
		l.text = append(l.text, `,"line":`...)
		l.text = strconv.AppendInt(l.text, int64(r.Line), 10)
	}
	l.text = append(l.text, `,"code":"`...)
	l.text = append(l.text, v.Code...)
	l.text = append(l.text, `","message":`...)
	l.text = wire.AppendString(l.text, v.Message)
	if v.Stored != "" && len(l.text) < maxRejectBytes {
		l.text = append(append(l.text, `,"stored":`...), v.Stored...)
	}
	l.text = append(l.text, '}')
}

// LateHeader is the header with the number of stored readings of a write that are late.
const LateHeader = "X-Varve-Late"

func setLate(w http.ResponseWriter, session *ingest.Session) {
	if session.Late > 0 {
		w.Header().Set(LateHeader, strconv.FormatInt(session.Late, 10))
	}
}

// answer writes the verdicts. The status is 200 if no reading was rejected, 207 if some were, and 422
// if all were. It is 503 if all were and may be stored later.
func (l *rejections) answer(w http.ResponseWriter, session *ingest.Session) {
	tally := &session.Tally
	status := http.StatusOK
	switch {
	case tally.Rejected == 0:
	case tally.Rejected < tally.Total():
		status = http.StatusMultiStatus
	case session.Retryable:
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	default:
		status = http.StatusUnprocessableEntity
	}
	out := append(l.out, `{"stored":`...)
	out = strconv.AppendInt(out, tally.Stored, 10)
	out = append(out, `,"duplicates":`...)
	out = strconv.AppendInt(out, tally.Duplicates, 10)
	out = append(out, `,"rejected":`...)
	out = strconv.AppendInt(out, tally.Rejected, 10)
	if tally.Queued > 0 {
		out = strconv.AppendInt(append(out, `,"queued":`...), tally.Queued, 10)
	}
	if session.SkippedCells > 0 {
		out = strconv.AppendInt(append(out, `,"skipped_cells":`...), session.SkippedCells, 10)
	}
	if session.TextNumbers > 0 {
		out = strconv.AppendInt(append(out, `,"text_numbers":`...), session.TextNumbers, 10)
	}
	out = append(out, `,"rejects":[`...)
	l.out = out
	end := "]}\n"
	if int64(l.listed) < tally.Rejected {
		end = `],"truncated":true}` + "\n"
	}
	setLate(w, session)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeBytes(w, out)
	writeBytes(w, l.text) // not copied, because the list may be long
	writeBytes(w, []byte(end))
}
