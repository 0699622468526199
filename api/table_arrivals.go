package api

import (
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
)

type tableArrivalsHandler struct {
	*tablesHandler
	scanner tablescan.Scanner
}

func (h *tableArrivalsHandler) addRoutes(o *operations) {
	o.raw(http.MethodGet, "/v1/tables/{name}/arrivals", serveJSON(h.responder, h.countArrivals), &huma.Operation{
		OperationID: "count-table-arrivals", Summary: "Readings of a table by the day of their arrival", Tags: []string{"tables"},
		Description: "Reads all readings of the table, because no index covers the arrivals of all streams. The answer has the requests and units of this read.",
		Parameters:  []*huma.Param{{Name: "name", In: "path", Required: true, Description: "the table", Schema: &huma.Schema{Type: huma.TypeString}}},
		Responses:   o.responses(reflect.TypeFor[wire.TableArrivals](), "200"),
	})
}

// countArrivals serves GET /v1/tables/{name}/arrivals.
func (h *tableArrivalsHandler) countArrivals(r *http.Request) (*wire.TableArrivals, error) {
	name := r.PathValue("name")
	if err := writes.Known(r.URL.Query()); err != nil {
		return nil, err
	}
	t, err := h.table(name)
	if err != nil {
		return nil, err
	}
	infos, err := h.rotator.Tables(r.Context())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(infos, func(in store.Info) bool { return in.Table == t }) {
		return nil, varve.Errorf(varve.NotFound, "table %q: not found: GET /v1/tables lists all tables", name)
	}
	days, cost, err := h.scanner.CountArrivals(r.Context(), t)
	if err != nil {
		return nil, err
	}
	body := &wire.TableArrivals{Table: name, Days: make([]wire.ArrivalDay, len(days)), Requests: cost.Requests, Units: cost.Units}
	for i, d := range days {
		body.Days[i] = wire.ArrivalDay{Day: d.Day.Format(time.DateOnly), Readings: d.Readings}
		body.Readings += d.Readings
	}
	return body, nil
}
