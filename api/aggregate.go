package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
)

// aggregatesAtWork is the maximum number of aggregates that are computed at a time. Others wait.
const aggregatesAtWork = 8

// aggregateMemory is the maximum number of values that all aggregates have in memory at a time. An
// aggregate reserves aggregate.MaxValues while it is computed. Then it reserves only the number of
// its values, until the client has read the answer.
const aggregateMemory = aggregatesAtWork * aggregate.MaxValues

type aggregateHandler struct {
	*responder
	*directory
	archive *Archive
	engine  *aggregate.Engine
	memory  *semaphore.Weighted // memory for aggregates, counted in values
	now     func() time.Time
}

func (h *aggregateHandler) addRoutes(o *operations) {
	params := slices.Concat(aggregateStepParams(), queryParams(
		"from", "from this time on: RFC 3339, a date or month, a number, now, today, yesterday, or relative as in -24h or -1mo; default: the beginning",
		"to", "before this time; default: the end",
		"during", "instead of from and to, a year, month, day, hour or minute in timezone, as in 2024-12 or 2024-12-01",
		"source", "readings: live readings; rollups: hourly roll-ups, also of expired readings, for whole hours; default readings",
		"where", aboutWhere,
		"limit", "maximum number of buckets; default: all",
		"format", "json, ndjson or csv; default by Accept",
		"precision", "unit of numeric from, to and as_of: s, ms, us or ns; default ms",
		"timezone", "of the buckets, and of from, to, during and as_of without a zone; default UTC"), asOfParam(), archiveParam(), fieldParams())
	responses := o.responses(reflect.TypeFor[wire.AggregatesBody](), "200")
	forms := responses["200"].Content
	forms["application/x-ndjson"] = &huma.MediaType{Schema: o.schema(reflect.TypeFor[wire.AggregateBody]())}
	forms["text/csv"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	const about = "Exact, from the readings in the window. Buckets are half-open. Only numbers count, except for count; ignored is the number of other values. " +
		"NDJSON and CSV by Accept or format; there, coverage comes as the trailer Varve-Coverage. "
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices/{device}/aggregate", h.getAggregate, &huma.Operation{
		OperationID: "read-aggregate", Summary: "Mean, percentiles and other functions of a device's readings, by any step", Tags: []string{"readings"},
		Description: about, Parameters: append(deviceParams(), params...), Responses: responses,
	})
	o.raw(http.MethodGet, "/v1/streams/{stream}/aggregate", h.getAggregateOfMany, &huma.Operation{
		OperationID: "read-aggregates", Summary: "Functions of the readings of many devices, by any step", Tags: []string{"readings"},
		Description: about + "Without devices, it includes all registered devices of the tenant that the filters select.",
		Parameters: slices.Concat([]*huma.Param{pathParam("stream", "the stream")}, namedDeviceParams("all registered devices"), deviceFilterParams(), queryParams(
			"group", "device: buckets of each device; none: buckets over all devices; default device",
			"top", "number of devices to return: those with the highest value of top_by over the whole window",
			"top_by", "the function that ranks devices, such as max",
			"top_field", "the field that ranks devices; default: the only one in fields"), params),
		Responses: responses,
	})
}

func aggregateStepParams() []*huma.Param {
	params := queryParams(
		"step", "length of the buckets: a duration as in 5m, or 1d, 1w, 1mo, 1y, which begin at midnight in timezone",
		"functions", "separated by commas: "+aggregate.FunctionNames+"; default mean,min,max",
		"fill", "buckets without readings: none omits them, null, previous or linear fill them; default none")
	params[0].Required = true
	return params
}

// parse returns the query of a request for an aggregate of one device, or of several devices. Roll-ups
// include the readings of archived tables. So the setting streams.NAME.archive applies only to
// aggregates of readings.
func (h *aggregateHandler) parse(r *http.Request, asked url.Values) (q aggregateQuery, err error) {
	if q, err = aggregateOf(r, asked, h.now()); err != nil {
		return q, err
	}
	if q.Source == aggregate.FromReadings || asked.Get("archive") != "" {
		q.Archive, err = h.archive.archivesOf(asked, q.Stream)
	}
	return q, err
}

// getAggregate serves GET /v1/streams/{stream}/devices/{device}/aggregate.
func (h *aggregateHandler) getAggregate(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	err := writes.Known(asked, aggregateParams...)
	var series varve.Series
	if err == nil {
		series, err = seriesOf(r, r.PathValue("device"))
	}
	var q aggregateQuery
	if err == nil {
		q, err = h.parse(r, asked)
	}
	if err == nil {
		q.Devices = []string{series.Device}
		err = h.answer(w, r, &q, false)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// getAggregateOfMany serves GET /v1/streams/{stream}/aggregate.
func (h *aggregateHandler) getAggregateOfMany(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	err := writes.Known(asked, aggregatesParams...)
	var q aggregateQuery
	if err == nil {
		q, err = h.parse(r, asked)
	}
	if err == nil {
		err = q.addRanking(asked)
	}
	if err == nil {
		q.Devices, err = h.selectDevices(r, asked)
	}
	if err == nil {
		err = h.answer(w, r, &q, !q.Merge)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// answer computes the whole answer before it sends any of it, so that the status can still report
// an error.
func (h *aggregateHandler) answer(w http.ResponseWriter, r *http.Request, q *aggregateQuery, withDevices bool) error {
	a, err := h.compute(r.Context(), q.Query)
	if err != nil {
		return inQuery(err)
	}
	defer h.memory.Release(int64(a.Values))
	notes, err := h.notes(r, q, a)
	if err != nil {
		return err
	}
	if all := len(a.Rows); q.limit > 0 && all > q.limit {
		a.Rows = a.Rows[:q.limit]
		notes = append(notes, wire.Note{Param: "query.limit", Message: fmt.Sprintf("%d of %d buckets are returned: raise limit, or omit it", q.limit, all)})
	}
	var cover []byte
	switch {
	case q.Source == aggregate.FromRollups:
	case q.format == wire.JSON:
		cover, err = coverage(r, a.Coverage)
	default:
		cover, err = shortCoverage(r, a.Coverage)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", q.format.MediaType())
	if q.format != wire.JSON {
		w.Header().Set("Trailer", "Varve-Coverage, "+notesTrailer)
	}
	out := wire.AggregateWriter{Format: q.format, Functions: q.Functions, Zone: q.zone, Devices: withDevices}
	if err := h.write(w, &out, a, q.Source, cover, notes); err != nil {
		// The status is sent, so only a cut-off body can report the failure.
		h.failed(r, err)
		panic(http.ErrAbortHandler)
	}
	if q.format == wire.JSON {
		return nil
	}
	if cover != nil {
		w.Header().Set("Varve-Coverage", string(cover))
	}
	setNotes(w.Header(), notes)
	return nil
}

// notes returns the notes on an answer. It fails with NotFound if the answer is empty because the stream,
// or the device in the path of the request, does not exist.
func (h *aggregateHandler) notes(r *http.Request, q *aggregateQuery, a *aggregate.Answer) ([]wire.Note, error) {
	ctx, missing := r.Context(), newMissingFields(q.Fields)
	silent := slices.Clone(q.Devices)
	for i := range a.Rows {
		row := &a.Rows[i]
		missing.remove(func(name string) bool {
			return slices.ContainsFunc(row.Fields, func(f aggregate.Field) bool { return f.Name == name })
		})
		if i == 0 || row.Device != a.Rows[i-1].Device {
			silent = slices.DeleteFunc(silent, func(name string) bool { return name == row.Device })
		}
	}
	switch {
	case len(a.Rows) == 0 && r.PathValue("device") != "":
		return whereNotes(&a.Profile), h.checkSeries(ctx, varve.Series{Tenant: q.Tenant, Stream: q.Stream, Device: r.PathValue("device")})
	case len(a.Rows) == 0:
		if err := h.checkStream(ctx, q.Tenant, q.Stream); err != nil {
			return nil, err
		}
		missing = nil
	}
	notes := append(missing.notes(), whereNotes(&a.Profile)...)
	if !namesDevices(r.URL.Query()) || q.Top.Devices > 0 {
		return notes, nil
	}
	devices, err := h.noteDevices(ctx, devicesParam(r.URL.Query()), q.Tenant, q.Stream, silent)
	return append(devices, notes...), err
}

// compute returns an answer, and reserves h.memory for its values. The caller must release this memory.
func (h *aggregateHandler) compute(ctx context.Context, q aggregate.Query) (*aggregate.Answer, error) {
	if err := h.memory.Acquire(ctx, aggregate.MaxValues); err != nil {
		return nil, context.Cause(ctx)
	}
	a, err := h.engine.Run(ctx, q)
	if err != nil {
		h.memory.Release(aggregate.MaxValues)
		return nil, err
	}
	h.memory.Release(int64(aggregate.MaxValues - a.Values))
	return a, nil
}

// write sends the answer in parts, so that little of its text is in memory at a time.
func (h *aggregateHandler) write(w http.ResponseWriter, out *wire.AggregateWriter, a *aggregate.Answer, source aggregate.Source, cover []byte, notes []wire.Note) error {
	text := out.AppendHead(nil)
	for i := range a.Rows {
		text = out.AppendRow(text, &a.Rows[i])
		a.Rows[i] = aggregate.Row{} // frees the memory of the row while the client reads
		if len(text) < flushAt {
			continue
		}
		if err := h.flush(w, text); err != nil {
			return err
		}
		text = text[:0]
	}
	return h.flush(w, out.AppendTail(text, source, cover, notes))
}

func (h *aggregateHandler) flush(w http.ResponseWriter, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("%w: %w", errNotTaken, err)
	}
	return nil
}
