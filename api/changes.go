package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/arrowstream"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/changes"
)

const (
	changesPattern       = "GET /v1/streams/{stream}/arrivals"
	deviceChangesPattern = "GET /v1/streams/{stream}/devices/{device}/arrivals"

	defaultChanges = 10_000
	maxChanges     = 100_000
	maxCollected   = 32 << 20 // maximum bytes of readings, or of cells, in an answer in CSV or Arrow
	cellBytes      = 16       // assumed memory of one cell, which may be empty
	maxWait        = time.Minute
	maxWaiting     = 1024 // maximum number of requests that wait for changes
)

// waits reports whether the requests of a route may wait for changes. Such a request counts as a read
// only while it uses the store.
func waits(pattern string) bool { return pattern == changesPattern || pattern == deviceChangesPattern }

// changesHandler serves the readings of streams by arrival.
type changesHandler struct {
	*responder
	*directory
	reader   *changes.Reader // if nil, the store has no index by arrival
	reads    *reads
	waiting  *semaphore.Weighted
	draining context.Context
	now      func() time.Time
}

func newChanges(a *responder, d *directory, r *reads, draining context.Context, o *Options) *changesHandler {
	return &changesHandler{
		responder: a, directory: d, reader: o.Changes, reads: r, waiting: semaphore.NewWeighted(maxWaiting),
		draining: draining, now: o.Now,
	}
}

func (h *changesHandler) addRoutes(o *operations) {
	params := slices.Concat(queryParams(
		"since", "the cursor next of the page before, or a time: RFC 3339, a date or month, a number, now, today, yesterday, or relative as in -24h or -1mo; default: the oldest time from which the changes are complete",
		"limit", "maximum number of readings, up to 100000; default 10000",
		"settle", "first wait up to this time until all readings that the server has acknowledged are settled, as in 30s; at most 1m. After that time, the status is 409",
		"wait", "if nothing has arrived, wait for changes up to this time, as in 30s; at most 1m",
		"precision", "unit of a numeric since: s, ms, us or ns; default ms",
		"timezone", "of since without a zone; default UTC",
		"format", "json, ndjson, csv or arrow; default by Accept",
		"numbers", "numbers of the format arrow: exact (default) or float"))
	describe := func(id, summary string, path []*huma.Param) *huma.Operation {
		op := &huma.Operation{
			OperationID: id, Summary: summary, Tags: []string{"readings"},
			Description: "Each reading that arrived since, once, at its first arrival, over all event times; expired ones are omitted. " +
				"The answer ends with the cursor next, which never passes a reading that is still being written. " +
				"If changes since then have expired or were not recorded, the status is 410, and the message has the oldest complete time. " +
				"In NDJSON, CSV and Arrow, next, more and settled come as the trailers Varve-Next, Varve-More and Varve-Settled. " + aboutErrorLine + aboutArrow,
			Parameters: slices.Concat(path, params), Responses: o.responses(reflect.TypeFor[wire.ChangesBody](), "200"),
		}
		forms := op.Responses["200"].Content
		forms["application/x-ndjson"] = &huma.MediaType{Schema: o.schema(reflect.TypeFor[wire.ChangeBody]())}
		forms[wire.Arrow.MediaType()] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
		forms["text/csv"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		return op
	}
	o.raw(http.MethodGet, "/v1/streams/{stream}/arrivals", h.getChanges,
		describe("read-changes", "The readings of a stream that arrived since a cursor", []*huma.Param{pathParam("stream", "the stream")}))
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices/{device}/arrivals", h.getChanges,
		describe("read-device-changes", "The readings of a device that arrived since a cursor", deviceParams()))
}

// getChanges serves the changes of a stream, and the changes of one device in a stream.
func (h *changesHandler) getChanges(w http.ResponseWriter, r *http.Request) {
	a := changesAnswer{h: h, w: w, r: r}
	err := a.parse()
	if err == nil {
		err = a.send()
	}
	if err == nil {
		return
	}
	if a.sent {
		h.cutOff(w, r, a.format, err)
	}
	w.Header().Del("Trailer")
	if e := classify(err); e.Param == "since" || e.Param == "settle" {
		err = inQuery(err)
	}
	h.fail(w, r, err)
}

type changesAnswer struct {
	h      *changesHandler
	w      http.ResponseWriter
	r      *http.Request
	q      changes.Query
	wait   time.Duration
	settle time.Duration // how long to wait until the acknowledged readings are settled; 0 means no wait
	format wire.Format
	// numbers is the type of numbers in the format arrow.
	numbers arrowstream.Numbers
	rows    *changes.Rows
	table   wire.RowWriter
	set     wire.FieldSet // the fields of the readings that fit into an answer in CSV or Arrow
	rowsIn  int           // number of the readings that fit
	size    int           // size of these readings, in bytes
	n       int
	sent    bool
	out     []byte
}

func (a *changesAnswer) parse() error {
	asked := a.r.URL.Query()
	if err := writes.Known(asked, "since", "limit", "settle", "wait", "precision", "timezone", "format", "numbers"); err != nil {
		return err
	}
	device := a.r.PathValue("device")
	series, err := seriesOf(a.r, "any")
	if err == nil && device != "" {
		series, err = seriesOf(a.r, device)
	}
	if err != nil {
		return err
	}
	a.q.Stream, a.q.Device = changes.Stream{Tenant: series.Tenant, Name: series.Stream}, device
	if a.q.Limit, err = positive(asked, "limit", maxChanges); err != nil {
		return err
	}
	if a.q.Limit == 0 {
		a.q.Limit = defaultChanges
	}
	if a.wait, err = waitOf(asked, "wait"); err != nil {
		return err
	}
	if a.settle, err = waitOf(asked, "settle"); err != nil {
		return err
	}
	if a.format, err = format(a.r, asked); err != nil {
		return err
	}
	if a.format != wire.JSON && a.format != wire.NDJSON && a.format != wire.CSV && a.format != wire.Arrow {
		return varve.InvalidParam("query.format", "changes have no such format: use json, ndjson, csv or arrow")
	}
	if a.numbers, err = numbersOf(asked, a.format); err != nil {
		return err
	}
	if a.format == wire.CSV || a.format == wire.Arrow {
		a.q.Fits = a.fits
	}
	return a.parseSince(asked)
}

// parseSince parses the parameter "since": a change cursor, or a time.
func (a *changesAnswer) parseSince(asked url.Values) (err error) {
	text := asked.Get("since")
	switch {
	case text == "":
		return nil
	case changes.IsCursor(text):
		a.q.Since, err = changes.ParseCursor(text, a.q.Stream, a.q.Device)
		return err
	}
	f, err := timeFormat(asked)
	if err != nil {
		return err
	}
	at, err := moment(asked, "since", f, a.h.now(), time.Time{})
	if err != nil {
		return varve.InvalidParam("query.since", "neither a time nor a cursor: use a time as in -24h, or next of the page before, unchanged")
	}
	a.q.Since = changes.FromTime(at)
	return nil
}

func (a *changesAnswer) send() error {
	ctx := a.r.Context()
	if err := a.h.checkNames(ctx, &a.q); err != nil {
		return err
	}
	if a.h.reader == nil {
		return varve.Errorf(varve.Conflict, "this server has no index by arrival")
	}
	if err := a.settleArrivals(ctx); err != nil {
		return err
	}
	page, err := a.open(ctx)
	if err != nil {
		return err
	}
	if len(page) == 0 && a.rows.More() {
		// The cursor is ahead of this process. Wait, so that clients do not repeat the request immediately.
		a.wait = max(a.wait, changes.RenewEvery)
	}
	deadline, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	defer context.AfterFunc(a.h.draining, cancel)()
	for ; ; page, err = a.open(ctx) {
		if err != nil {
			return err
		}
		if len(page) > 0 || deadline.Err() != nil {
			return a.write(ctx, page)
		}
		a.q.Since = a.rows.Cursor()
		if !a.h.waiting.TryAcquire(1) {
			return errWaiting()
		}
		a.h.reader.Wait(deadline, a.q, a.q.Since)
		a.h.waiting.Release(1)
	}
}

// checkNames fails if the stream, or the device of the query, does not exist. It reads the registry only for names
// that this process has not found recently, so that polls need few requests. A device that another process has deleted
// may be found for up to a minute more. Then the answer is a page of changes, instead of the status 404.
func (h *changesHandler) checkNames(ctx context.Context, q *changes.Query) error {
	if err := h.checkStream(ctx, q.Stream.Tenant, q.Stream.Name); err != nil || q.Device == "" {
		return err
	}
	ok, err := h.devices.Exists(ctx, q.Stream.Tenant, q.Device)
	if err != nil || ok {
		return err
	}
	return errNoDevice(q.Device)
}

// open begins to read the changes after the cursor, and returns the first page. Without changes, the page
// is empty.
func (a *changesAnswer) open(ctx context.Context) (page []varve.Reading, err error) {
	err = a.read(ctx, func() (err error) {
		if a.rows, err = a.h.reader.Open(ctx, a.q); err == nil {
			page, err = a.rows.Next(ctx)
		}
		return err
	})
	return page, err
}

// next returns the next page. After the last page, it returns an empty one.
func (a *changesAnswer) next(ctx context.Context) (page []varve.Reading, err error) {
	err = a.read(ctx, func() (err error) {
		page, err = a.rows.Next(ctx)
		return err
	})
	return page, err
}

// read calls the function "do", which uses the store. Meanwhile, the request counts as a read under way.
func (a *changesAnswer) read(ctx context.Context, do func() error) error {
	if err := a.h.reads.begin(); err != nil {
		return err
	}
	defer a.h.reads.end()
	return a.h.reads.inTurn(ctx, do)
}

// write writes the changes: the given page, and then all following pages.
func (a *changesAnswer) write(ctx context.Context, page []varve.Reading) (err error) {
	header := a.w.Header()
	header.Set("Content-Type", a.format.MediaType())
	switch a.format {
	case wire.CSV:
		if page, err = a.collect(ctx, page); err != nil {
			return err
		}
		a.out = a.table.AppendChangesHeader(a.out)
		setChangesTrailer(header)
	case wire.Arrow:
		setChangesTrailer(header)
		return a.writeArrow(ctx, page)
	case wire.NDJSON:
		setChangesTrailer(header)
	default:
		a.out = append(a.out, `{"readings":[`...)
	}
	for len(page) > 0 {
		a.add(page)
		if len(a.out) >= flushAt {
			if err := a.flush(); err != nil {
				return err
			}
		}
		if a.format == wire.CSV {
			break // collect has read all pages of the answer
		}
		if page, err = a.next(ctx); err != nil {
			return err
		}
	}
	return a.end()
}

func setChangesTrailer(h http.Header) {
	h.Set("Trailer", wire.HeaderNext+", "+wire.HeaderMore+", "+wire.HeaderSettled)
}

// writeArrow writes the changes as an Arrow stream whose first column is the device of each reading.
func (a *changesAnswer) writeArrow(ctx context.Context, page []varve.Reading) error {
	all, err := a.collect(ctx, page)
	if err != nil {
		return err
	}
	types := arrowstream.NewTypeSet(nil)
	types.IncludeDevice()
	for i := range all {
		types.Add(&all[i])
	}
	if err := types.Check(); err != nil {
		return err
	}
	var out bytes.Buffer
	stream := types.NewWriter(&out, a.numbers)
	if err := errors.Join(stream.Add(all), stream.Close()); err != nil {
		return err
	}
	a.out = out.Bytes()
	return a.end()
}

func (a *changesAnswer) add(page []varve.Reading) {
	for i := range page {
		switch a.format {
		case wire.CSV:
			a.out, _ = a.table.AppendChangeRow(a.out, &page[i]) // every field has a column, because collect has found all fields
		case wire.NDJSON:
			a.out = append(a.table.AppendChange(a.out, &page[i]), '\n')
		default:
			if a.n > 0 {
				a.out = append(a.out, ',')
			}
			a.out = a.table.AppendChange(append(a.out, '\n'), &page[i])
		}
		a.n++
	}
}

// end writes the rest of the answer. The change cursor is at the end of JSON, and in a trailer of
// the other formats.
func (a *changesAnswer) end() error {
	next := a.rows.Cursor().Encode(a.q.Stream, a.q.Device)
	more, settled := strconv.FormatBool(a.rows.More()), a.rows.Settled().Format(time.RFC3339Nano)
	if a.format == wire.JSON {
		if a.n > 0 {
			a.out = append(a.out, '\n')
		}
		a.out = append(a.out, `],"next":"`+next+`","more":`+more+`,"settled":"`+settled+"\"}\n"...)
		return a.flush()
	}
	if err := a.flush(); err != nil {
		return err
	}
	header := a.w.Header()
	header.Set(wire.HeaderNext, next)
	header.Set(wire.HeaderMore, more)
	header.Set(wire.HeaderSettled, settled)
	return nil
}

// flush sends the text in a.out, and empties a.out.
func (a *changesAnswer) flush() error {
	a.sent = true
	if _, err := a.w.Write(a.out); err != nil {
		return errNotTaken
	}
	a.out = a.out[:0]
	return nil
}
