package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/query"
)

const maxLimit = 1_000_000_000

var readParams = []string{"from", "to", "during", "order", "limit", "fields", "cursor", "where", "scan_limit", "as_of", "versions", "archive", "consistent", "damaged", "explain", "format", "numbers", "precision", "timezone"}

type readingsHandler struct {
	*responder
	*directory
	query      *query.Engine
	conditions *health.Conditions
	archive    *Archive
	reads      *reads
	now        func() time.Time
}

func (h *readingsHandler) addRoutes(o *operations) {
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices/{device}/readings", h.getReadings, &huma.Operation{
		OperationID: "read-readings", Summary: "Readings of a device in a window", Tags: []string{"readings"},
		Description: "Streamed, in any number. An answer in columns is limited to 8 MiB. With a limit, next leads to the following page, also after tables were rotated. " +
			"NDJSON, CSV, columns and Arrow by Accept or format. In NDJSON, CSV and Arrow, next and coverage come as the trailers Varve-Next and Varve-Coverage. " +
			aboutErrorLine + "Coverage names tables only for keys of the tenant default; for others, more_missing has the number of missing tables. " +
			"With where, a page may be short or empty and not the last. " +
			"The columns of CSV are time, id, arrived and the fields; a field of such a name is fields.time, fields.id or fields.arrived. " +
			"If a reading has a version, CSV and Arrow have the column _version. " +
			"If a string of an answer in CSV looks like another kind of value, or is empty, the column _strings lists the fields of each row with such a string, as a JSON array. " +
			"With fields, that column is omitted. " +
			"In the format columns, the answer is an object with the arrays time, id and arrived, and an object fields with an array for each field. " +
			"All arrays have the same length; a reading without a field has null there. " +
			aboutArrow,
		Parameters: slices.Concat(deviceParams(), readFormatParam(), queryParams(
			"from", "from this time on: RFC 3339, a date or month, a number, now, today, yesterday, or relative as in -24h or -1mo; default: the beginning",
			"to", "before this time; default: the end",
			"during", "instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12, 2024-12-01 or 2024-12-01T14",
			"order", "asc or desc; default asc",
			"limit", "maximum number of readings; default: all",
			"where", aboutWhere,
			"scan_limit", "with where: maximum number of readings that are compared with it, up to 1000000; then next continues; default 1000000",
			"versions", "true: all versions of each reading; false: only the highest version that had arrived by as_of; default false",
			"cursor", "next of the page before; from, to, during, order, where, as_of, versions and archive must be the same",
			"numbers", "format arrow: exact, or float for the nearest 64-bit floats; default exact",
			"explain", "true: return the tables that would be read and the cost, and read nothing",
			"precision", "unit of numeric from, to and as_of: s, ms, us or ns; default ms",
			"timezone", "of from, to and as_of without a zone; default UTC"), asOfParam(), archiveParam(), fieldParams()),
		Responses: o.readingsResponses(),
	})
}

// getReadings serves GET /v1/streams/{stream}/devices/{device}/readings.
func (h *readingsHandler) getReadings(w http.ResponseWriter, r *http.Request) {
	a := answers.Get().(*answer)
	defer a.release()
	a.h, a.w, a.r = h, w, r
	if err := a.send(); err != nil {
		if a.sent {
			h.cutOff(w, r, a.format, err)
		}
		w.Header().Del("Trailer") // the header announces trailers, which an error does not have
		h.fail(w, r, err)
	}
}

// answer writes the answer to one query, page by page while the store is read.
type answer struct {
	h      *readingsHandler
	w      http.ResponseWriter
	r      *http.Request
	q      query.Query
	asked  url.Values
	format wire.Format
	table  wire.RowWriter  // writes the readings in all formats except columns and arrow
	set    *wire.ColumnSet // only in the format columns
	arrow  arrowAnswer     // only in the format arrow
	begun  bool
	sent   bool // a part of the answer has been sent
	found  bool // the answer has a reading
	absent missingFields
	n      int
	out    []byte
}

var answers = sync.Pool{New: func() any { return new(answer) }}

func (a *answer) release() {
	out := a.out[:0]
	if cap(out) > maxKept {
		out = nil
	}
	*a = answer{out: out}
	answers.Put(a)
}

// An answer is collected up to flushAt bytes, and then sent. JSON with full pages is collected up to
// fullFlushAt bytes. If the answer ends before, it has a Content-Length and needs fewer writes.
const (
	flushAt     = 64 << 10
	fullFlushAt = 256 << 10
	maxKept     = 2 << 20 // largest buffer that is reused for another answer
)

func (a *answer) send() error {
	var err error
	a.asked = a.r.URL.Query()
	if a.q, err = queryOf(a.r, a.asked, a.h.now()); err != nil {
		return err
	}
	if a.q.Archive, err = a.h.archive.archivesOf(a.asked, a.q.Series.Stream); err != nil {
		return err
	}
	if a.format, err = format(a.r, a.asked); err != nil {
		return err
	}
	if a.arrow.numbers, err = numbersOf(a.asked, a.format); err != nil {
		return err
	}
	explain, err := boolean(a.asked, "explain")
	if err != nil {
		return err
	}
	if explain {
		return a.explain()
	}
	a.table.Fields = slices.Compact(slices.Sorted(slices.Values(a.q.Fields)))
	if a.format == wire.Arrow {
		return a.sendArrow()
	}
	if a.format == wire.CSV {
		if err := a.columns(); err != nil {
			return err
		}
	}
	return a.sendPages()
}

func (a *answer) sendPages() error {
	a.absent = newMissingFields(a.q.Fields)
	// If a damaged row is found after the answer has begun, the answer can only be cut off. So
	// while damage is known, an answer in JSON or NDJSON is read completely before it is sent.
	if a.h.conditions.Holds(health.DataDamaged) && a.format != wire.CSV && a.format != wire.ColumnJSON && a.format != wire.Arrow {
		if err := a.scan(func(*query.Part) {}); err != nil {
			return err
		}
	}
	rows, err := a.h.query.Open(a.r.Context(), a.q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; {
		if more, err = a.page(rows); err != nil {
			return err
		}
		limit := flushAt
		if a.format == wire.JSON && rows.HasFullPages() {
			limit = fullFlushAt
		}
		if more && len(a.out) >= limit {
			err = a.flush()
		}
		if err != nil {
			return err
		}
	}
	return a.end(rows)
}

// page adds the next page to the answer, once the limit of reads permits. It releases the memory
// of the page, because the client may read slowly.
func (a *answer) page(rows *query.Rows) (more bool, err error) {
	err = a.h.reads.inPausableTurn(a.r.Context(), func(ctx context.Context) error {
		part, err := rows.NextPart(ctx)
		if err != nil {
			return err
		}
		if !a.begun {
			a.begin()
		}
		more = !part.IsEnd()
		if part.Len() > 0 {
			a.found = true
			a.absent.addColumns(part.Columns)
			a.absent.addReadings(part.Readings)
		}
		err = a.add(&part)
		rows.Release()
		return err
	})
	return more, err
}

func queryOf(r *http.Request, asked url.Values, now time.Time) (q query.Query, err error) {
	if err := writes.Known(asked, readParams...); err != nil {
		return q, err
	}
	if q.Series, err = seriesOf(r, r.PathValue("device")); err != nil {
		return q, err
	}
	if q.Window, err = windowOf(asked, now); err != nil {
		return q, err
	}
	if q.Order, err = query.ParseOrder(asked.Get("order")); err != nil {
		return q, varve.InvalidParam("query.order", "%s", err)
	}
	if asked.Has("limit") {
		if q.Limit, err = positive(asked, "limit", maxLimit); err != nil {
			return q, err
		}
	}
	if q.Consistent, err = boolean(asked, "consistent"); err != nil {
		return q, err
	}
	if q.SkipDamaged, err = skipDamaged(asked); err != nil {
		return q, err
	}
	if q.Where, q.ScanLimit, err = whereOf(asked); err != nil {
		return q, err
	}
	if q.AsOf, err = asOfOf(asked, now); err != nil {
		return q, err
	}
	if q.Versions, err = boolean(asked, "versions"); err != nil {
		return q, err
	}
	q.Fields = list(asked, "fields")
	if text := asked.Get("cursor"); text != "" {
		c, err := query.ParseCursor(text, q.Series, q.Order, startText(asked), asked.Get("to"))
		if err != nil {
			return q, inQuery(err)
		}
		q.Window, q.AsOf, q.After = c.Window, c.AsOf, &c.After
	}
	return q, nil
}

// inQuery adds the prefix "query." to the parameter of an error.
func inQuery(err error) error {
	if e := classify(err); e.Param != "" {
		return withParam(e, "query."+e.Param)
	}
	return err
}

// begin sets the headers, and adds the head of the body.
func (a *answer) begin() {
	a.begun = true
	h := a.w.Header()
	h.Set("Content-Type", a.format.MediaType())
	switch a.format {
	case wire.JSON:
		a.out = append(a.out, `{"readings":[`...)
	case wire.ColumnJSON:
		a.set = wire.NewColumnSet(a.table.Fields)
	case wire.CSV, wire.Arrow:
		if a.format == wire.CSV {
			a.out = a.table.AppendHeader(a.out)
		}
		fallthrough
	default:
		h.Set("Trailer", "Varve-Next, Varve-Coverage, "+notesTrailer)
	}
}

// flush sends the collected text. It does not send the last bytes of an Arrow stream that is not
// complete: see arrowAnswer.withheld.
func (a *answer) flush() error {
	a.sent = true
	withheld := a.arrow.withheld(a.out)
	if _, err := a.w.Write(a.out[:len(a.out)-withheld]); err != nil {
		return fmt.Errorf("%w: %w", errNotTaken, err)
	}
	a.out = append(a.out[:0], a.out[len(a.out)-withheld:]...)
	return nil
}

// end sends the rest of the answer and the cursor.
func (a *answer) end(rows *query.Rows) error {
	if x := rows.Coverage().Expiry; !a.found && (x == nil || x.Readings == 0) {
		if err := a.h.checkSeries(a.r.Context(), a.q.Series); err != nil {
			return err
		}
	}
	if !a.found {
		a.absent = nil
	}
	notes := append(a.absent.notes(), whereNotes(rows.Profile())...)
	next := ""
	if at, more := rows.More(); more {
		c := query.Cursor{Window: a.q.Window, AsOf: a.q.AsOf, After: at}
		next = c.Encode(a.q.Series, a.q.Order, startText(a.asked), a.asked.Get("to"))
	}
	if a.format != wire.JSON && a.format != wire.ColumnJSON {
		if err := a.arrow.close(); err != nil {
			return err
		}
		if err := a.flush(); err != nil {
			return err
		}
		cover, err := shortCoverage(a.r, rows.Coverage())
		a.w.Header().Set("Varve-Next", next)
		if cover != nil {
			a.w.Header().Set("Varve-Coverage", string(cover))
		}
		setNotes(a.w.Header(), notes)
		return err
	}
	cover, err := coverage(a.r, rows.Coverage())
	if err != nil {
		return err
	}
	if a.format == wire.ColumnJSON {
		a.out = a.set.AppendTo(a.out)
	} else {
		if a.n > 0 {
			a.out = append(a.out, '\n')
		}
		a.out = append(a.out, ']')
	}
	if next != "" {
		a.out = append(append(append(a.out, `,"next":"`...), next...), '"')
	}
	if cover != nil {
		a.out = append(append(a.out, `,"coverage":`...), cover...)
	}
	a.out = append(wire.AppendNotes(a.out, notes), '}', '\n')
	if !a.sent {
		a.w.Header().Set("Content-Length", strconv.Itoa(len(a.out)))
	}
	return a.flush()
}

func (a *answer) explain() error {
	if !seesTables(a.r) {
		return varve.Errorf(varve.Forbidden, "this requires a key of tenant %s: tables are shared by all tenants", varve.DefaultTenant)
	}
	x, err := a.h.query.Explain(a.r.Context(), a.q)
	if err != nil {
		return err
	}
	if err := a.h.checkSeries(a.r.Context(), a.q.Series); err != nil {
		return err
	}
	body := wire.Explained{Tables: []wire.ExplainedTable{}, Requests: x.Cost.Requests, Units: x.Cost.Units, Expiry: x.Expiry}
	for _, t := range x.Tables {
		body.Tables = append(body.Tables, wire.ExplainedTable{
			PlannedTable: t, WriteMonth: t.Month.String(), Requests: t.Cost.Requests, Units: t.Cost.Units,
		})
	}
	return writeJSON(a.w, body)
}
