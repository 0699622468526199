package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

type streamSeriesHandler struct {
	*responder
	*directory
	tables store.Enumerator
	reads  *reads
}

func (h *streamSeriesHandler) addRoutes(o *operations) {
	o.raw(http.MethodGet, "/v1/streams/{stream}/series", serveJSON(h.responder, h.listSeries), &huma.Operation{
		OperationID: "list-stream-series", Summary: "The series of a stream, from its tables", Tags: []string{"devices"},
		Description: "Includes each device with a stored reading, also if it is not registered. All pages together have each device that had a reading before the first page. " +
			"A page has the series of one table, so a device may be on several pages. Devices whose readings have expired may be included. " +
			"On DynamoDB, a page scans the rows of a table, and DynamoDB bills them as if they were read.",
		Parameters: append([]*huma.Param{pathParam("stream", "the stream")}, queryParams("cursor", "next of the page before",
			"damaged", "fail, or skip to list the other devices if data is damaged; then damaged has the number of places that may have hidden a device")...),
		Responses: o.responses(reflect.TypeFor[wire.SeriesList](), "200"),
	})
}

// listSeries serves GET /v1/streams/{stream}/series.
func (h *streamSeriesHandler) listSeries(r *http.Request) (*wire.SeriesList, error) {
	ctx, tenant, stream := r.Context(), tenantOf(r.Context()), r.PathValue("stream")
	asked := r.URL.Query()
	if err := writes.Known(asked, "cursor", "damaged"); err != nil {
		return nil, err
	}
	skip, err := skipDamaged(asked)
	if err != nil {
		return nil, err
	}
	after := asked.Get("cursor")
	if n, err := hex.DecodeString(after); err != nil || asked.Has("cursor") && len(n) != markBytes {
		return nil, varve.InvalidParam("query.cursor", "malformed: use the unchanged value of next")
	}
	if err := varve.ValidateName("stream", stream); err != nil {
		return nil, varve.InvalidParam("path.stream", "%s", err)
	}
	if err := h.checkStream(ctx, tenant, stream); err != nil {
		return nil, err
	}
	tables, err := h.query.TablesOf(ctx, tenant, stream)
	if err != nil {
		return nil, err
	}
	body := &wire.SeriesList{Series: []wire.SeriesBody{}}
	scan := seriesScan{of: varve.Series{Tenant: tenant, Stream: stream}, devices: map[string]bool{}}
	rest := tablesAfter(tables, after)
	for len(rest) > 0 && len(body.Series) == 0 && len(body.Damaged) == 0 {
		if err := h.scanTable(ctx, rest[0], &scan, skip); err != nil {
			return nil, withoutRow(r, rest[0], err)
		}
		if n := len(scan.damage); n > 0 {
			h.report(r, errors.Join(scan.damage...))
			body.Damaged = append(body.Damaged, wire.SeriesDamage{Table: shownTable(r, rest[0]), Places: n})
		}
		for _, device := range slices.Sorted(maps.Keys(scan.devices)) {
			body.Series = append(body.Series, wire.SeriesBody{Device: device})
		}
		if body.Next = tableMark(rest[0]); len(rest) == 1 {
			body.Next = ""
		}
		rest = rest[1:]
	}
	return body, nil
}

// seriesScan collects the devices of a stream from its tables.
type seriesScan struct {
	of      varve.Series // the tenant and the stream
	devices map[string]bool

	mu     sync.Mutex
	damage []error // the damage that may have hidden devices, without repetitions
}

func (s *seriesScan) addDamage(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.damage, func(other error) bool { return other.Error() == err.Error() }) {
		s.damage = append(s.damage, err)
	}
}

// scanTable adds the devices of a stream that have readings in a table. If the table is dropped
// meanwhile, its readings have expired, and scanTable leaves out the devices that it has not read yet.
// If the argument "skip" is set, the scan skips damage and collects it.
func (h *streamSeriesHandler) scanTable(ctx context.Context, t grid.Table, scan *seriesScan, skip bool) error {
	q := store.SeriesQuery{Table: t}
	if skip {
		q.Damaged = scan.addDamage
	}
	for more := true; more; {
		err := h.reads.inTurn(ctx, func() error {
			page, err := h.tables.Series(ctx, q)
			for _, s := range page.Series {
				if s.Tenant == scan.of.Tenant && s.Stream == scan.of.Stream {
					scan.devices[s.Device] = true
				}
			}
			q.After, more = page.Next, page.Next != ""
			return err
		})
		if errors.Is(err, store.ErrNoTable) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutRow replaces an error about damage with one for the client, without the damaged row. The row can
// be another tenant's, so only the log has it. Only a request that may see tables gets the name of the
// table. Other errors stay unchanged.
func withoutRow(r *http.Request, t grid.Table, err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	place := "a table of the stream"
	if name := shownTable(r, t); name != "" {
		place = "table " + name
	}
	return &varve.Error{Failure: varve.Damaged, Err: err, Message: place + ": " + store.ErrDamaged.Error() +
		": the operator can see the damage with varve verify; or list the other devices with damaged=skip"}
}

// shownTable returns the name of a table if the request may see tables. Otherwise, it returns "".
func shownTable(r *http.Request, t grid.Table) string {
	if !seesTables(r) {
		return ""
	}
	return t.Name()
}

// markBytes is the number of bytes that tableMark returns in hexadecimal.
const markBytes = 16

// tableMark returns the text that stands for a table in a cursor. Only keys of varve.DefaultTenant
// may see the names of tables, and the tokens of an enumeration can contain the names of other tenants'
// devices.
func tableMark(t grid.Table) string {
	sum := sha256.Sum256([]byte(t.Name()))
	return hex.EncodeToString(sum[:markBytes])
}

// tablesAfter returns the tables whose marks are after a given one, in the order of their marks. So tables
// that are created or dropped between two pages do not shift the pages.
func tablesAfter(tables []grid.Table, after string) []grid.Table {
	tables = slices.DeleteFunc(tables, func(t grid.Table) bool { return tableMark(t) <= after })
	slices.SortFunc(tables, func(a, b grid.Table) int { return cmp.Compare(tableMark(a), tableMark(b)) })
	return tables
}
