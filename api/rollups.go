package api

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/rollup"
)

var rollupParams = []string{"period", "from", "to", "during", "fields", "limit", "as_of", "precision", "timezone"}

var rebuildParams = []string{"from", "to", "during", "precision", "timezone"}

type rollupsHandler struct {
	*responder
	*directory
	reader     *rollup.Reader // if nil, roll-ups are off
	aggregator *rollup.Aggregator
	reads      *reads
	now        func() time.Time
}

func (h *rollupsHandler) addRoutes(o *operations) {
	series := deviceParams()
	times := queryParams("from", "from this time on: RFC 3339, a date or month, a number, now, today, yesterday, or relative as in -24h or -1mo; default: the beginning",
		"to", "before this time; default: the end",
		"during", "instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12 or 2024-12-01",
		"precision", "unit of numeric from and to: s, ms, us or ns; default ms",
		"timezone", "of from and to without a zone; default UTC")
	period := queryParams("period", "hourly or daily, in UTC; default hourly")
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices/{device}/rollups", h.getRollups, &huma.Operation{
		OperationID: "read-rollups", Summary: "Count, sum, min, max, mean, first and last of a device's numbers, by hour or day", Tags: []string{"rollups"},
		Description: "Exact at any time: covers all distinct readings acknowledged before, including readings that expired since. " +
			"Every period that overlaps the window is included as a whole; periods without readings are omitted. " +
			"Send next as from for the following page; a page may be short or empty and not the last.",
		Parameters: slices.Concat(series, period, times, queryParams(
			"fields", "only these, separated by commas",
			"limit", "maximum number of periods, up to 10000; default 1000",
			"as_of", "as they were at this time: over the readings that had arrived by then; fails if readings are deleted that are needed to recount that day")),
		Responses: o.responses(reflect.TypeFor[wire.RollupsBody](), "200"),
	})
	o.raw(http.MethodPost, "/v1/streams/{stream}/devices/{device}/rollups", h.postRollups, &huma.Operation{
		OperationID: "rebuild-rollups", Summary: "Count readings that were written while roll-ups were off", Tags: []string{"rollups"},
		Description: "Recounts hours that have more stored readings than their roll-up counted. " +
			"An hour stays unchanged, and is counted in left, if readings are gone that are needed to recount it.",
		Parameters: append(series, times...),
		Responses:  o.responses(reflect.TypeFor[wire.Rebuilt](), "200"),
	})
}

// getRollups serves GET /v1/streams/{stream}/devices/{device}/rollups.
func (h *rollupsHandler) getRollups(w http.ResponseWriter, r *http.Request) {
	q, err := h.rollupsOf(r, r.URL.Query())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	var page rollup.Page
	err = h.reads.inTurn(r.Context(), func() (err error) {
		page, err = h.reader.Read(r.Context(), q)
		return err
	})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	notes, err := h.notes(r, &q, &page)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	writeBytes(w, wire.AppendRollups(nil, &page, notes))
}

// notes returns the notes on a page. It fails with NotFound if the page is empty because the stream
// or the device does not exist.
func (h *rollupsHandler) notes(r *http.Request, q *rollup.Query, page *rollup.Page) ([]wire.Note, error) {
	if len(page.Rollups) == 0 {
		if !page.Next.IsZero() {
			return nil, nil
		}
		return nil, h.checkSeries(r.Context(), q.Series)
	}
	missing := newMissingFields(q.Fields)
	for i := range page.Rollups {
		fields := page.Rollups[i].Fields
		missing.remove(func(name string) bool {
			return slices.ContainsFunc(fields, func(f rollup.Field) bool { return f.Name == name })
		})
	}
	return missing.notes(), nil
}

func (h *rollupsHandler) rollupsOf(r *http.Request, asked url.Values) (q rollup.Query, err error) {
	if err := knownOf(asked, rollupParams...); err != nil {
		return q, err
	}
	if q.Series, q.Window, err = h.counted(r, asked); err != nil {
		return q, err
	}
	q.Period = rollup.Hourly
	if asked.Has("period") {
		if q.Period, err = rollup.ParsePeriod(asked.Get("period")); err != nil {
			return q, varve.InvalidParam("query.period", "%s", err)
		}
	}
	if asked.Has("limit") {
		if q.Limit, err = positive(asked, "limit", rollup.MaxLimit); err != nil {
			return q, err
		}
	}
	q.Fields = list(asked, "fields")
	q.AsOf, err = asOfOf(asked, h.now())
	return q, err
}

// counted returns the series and the window of a request for roll-ups. It fails if roll-ups are off.
func (h *rollupsHandler) counted(r *http.Request, asked url.Values) (series varve.Series, w varve.Window, err error) {
	if h.reader == nil {
		return series, w, varve.Errorf(varve.Conflict, "roll-ups are switched off here: set rollups.enabled to true")
	}
	if series, err = seriesOf(r, r.PathValue("device")); err != nil {
		return series, w, err
	}
	w, err = windowOf(asked, h.now())
	return series, w, err
}

// postRollups serves POST /v1/streams/{stream}/devices/{device}/rollups.
func (h *rollupsHandler) postRollups(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	err := knownOf(asked, rebuildParams...)
	var series varve.Series
	var window varve.Window
	if err == nil {
		series, window, err = h.counted(r, asked)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	marked, left, err := h.aggregator.Rebuild(r.Context(), series, window)
	if err == nil && marked+left == 0 {
		err = h.checkSeries(r.Context(), series)
	}
	if err == nil {
		err = writeJSON(w, wire.Rebuilt{Hours: marked, Left: left})
	}
	if err != nil {
		h.fail(w, r, err)
	}
}
