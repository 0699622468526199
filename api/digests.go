package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/receipts"
	"github.com/varvedb/varve/reconcile"
	"github.com/varvedb/varve/rollup"
)

const digestsPath = "/v1/streams/{stream}/devices/{device}/digests"

var digestsParams = []string{"period", "from", "to", "during", "receipt", "precision", "timezone"}

// digestsHandler serves digests of readings, by which senders find the readings that the store
// lacks.
type digestsHandler struct {
	*responder
	*directory
	reader  reconcile.Reader
	keyring *receipts.Keyring // if nil, no receipts are signed
	now     func() time.Time
}

// newReconciler returns a reader of digests whose reads of the store count as reads under way.
func newReconciler(reads *reads, o *Options) reconcile.Reader {
	r := reconcile.Reader{Readings: o.Query, InTurn: reads.inTurn}
	if o.Erasures.Eraser != nil {
		r.Erased = o.Erasures.Eraser.ErasedWindows
	}
	return r
}

func (h *digestsHandler) addRoutes(o *operations) {
	params := queryParams("period", "hourly or daily, in UTC; default hourly",
		"from", "from this time on: RFC 3339, a date or month, a number, now, today, yesterday, or relative as in -24h or -1mo; default: the beginning",
		"to", "before this time; default: the end",
		"during", "instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12 or 2024-12-01",
		"receipt", "true: add a signed receipt",
		"precision", "unit of numeric from and to: s, ms, us or ns; default ms",
		"timezone", "of from and to without a zone; default UTC")
	o.raw(http.MethodGet, digestsPath, serveJSON(h.responder, h.digests), &huma.Operation{
		OperationID: "read-digests", Summary: "Number and digest of a device's readings, by hour or day", Tags: []string{"reconciliation"},
		Description: "Covers all distinct live readings acknowledged before. A digest is a sum of hashes of event times and ids, so a sender can compute it, too.",
		Parameters:  append(deviceParams(), params...), Responses: o.responses(reflect.TypeFor[wire.DigestsBody](), "200"),
	})
	compare := deviceOp("reconciliation", "compare-digests", http.MethodPost, digestsPath, "The periods in which a sender and the store differ",
		"Send the digests of all periods for which the sender has readings. Begin with days, and continue with the hours of the days that differ.")
	compare.Responses = o.responses(reflect.TypeFor[wire.DifferencesBody](), "200")
	huma.Register(o.api, compare, h.compare)
	o.raw(http.MethodGet, "/v1/receipts/key", serveJSON(h.responder, h.key), &huma.Operation{
		OperationID: "receipts-key", Summary: "The public key of receipts, as a JSON Web Key", Tags: []string{"reconciliation"},
		Responses: o.responses(reflect.TypeFor[receipts.Key](), "200"),
	})
}

// digests serves GET /v1/streams/{stream}/devices/{device}/digests.
func (h *digestsHandler) digests(r *http.Request) (*wire.DigestsBody, error) {
	asked := r.URL.Query()
	if err := writes.Known(asked, digestsParams...); err != nil {
		return nil, err
	}
	series, err := seriesOf(r, r.PathValue("device"))
	if err != nil {
		return nil, err
	}
	q := reconcile.Query{Series: series, Period: rollup.Hourly}
	if q.Window, err = windowOf(asked, h.now()); err != nil {
		return nil, err
	}
	if text := asked.Get("period"); text != "" {
		if q.Period, err = rollup.ParsePeriod(text); err != nil {
			return nil, varve.InvalidParam("query.period", "%s", err)
		}
	}
	signed, err := boolean(asked, "receipt")
	if err != nil {
		return nil, err
	}
	a, err := h.reader.Read(r.Context(), q)
	if err != nil {
		return nil, inQuery(err)
	}
	if a.Total.Readings == 0 {
		if err := h.checkSeries(r.Context(), series); err != nil {
			return nil, err
		}
	}
	body := &wire.DigestsBody{
		Period: q.Period.String(), Periods: make([]wire.DigestBody, len(a.Periods)), Readings: a.Total.Readings,
		Digest: a.Total.Digest.String(), CompleteFrom: a.CompleteFrom,
	}
	for i, c := range a.Periods {
		body.Periods[i] = wire.DigestBody{Start: c.Start.Format(time.RFC3339), Readings: c.Readings, Digest: c.Digest.String()}
	}
	if signed {
		body.Receipt, err = h.sign(r.Context(), series, []varve.Window{q.Window}, a.Total)
	}
	return body, err
}

// sign returns a signed receipt for the readings of a series in some windows.
func (h *digestsHandler) sign(ctx context.Context, of varve.Series, windows []varve.Window, total reconcile.Count) (string, error) {
	if h.keyring == nil {
		return "", varve.Errorf(varve.Conflict, "this server signs no receipts: omit receipt")
	}
	signer, err := h.keyring.Signer(ctx)
	if err != nil {
		return "", err
	}
	r := receipts.Receipt{
		Tenant: of.Tenant, Stream: of.Stream, Device: of.Device, Readings: total.Readings, Digest: total.Digest.String(), At: h.now().UTC(),
	}
	for _, w := range windows {
		r.Windows = append(r.Windows, receipts.Window{From: w.From.UTC(), To: w.To.UTC()})
	}
	return signer.Sign(&r)
}

type digestsPost struct {
	Stream  string `path:"stream" doc:"the stream"`
	Device  string `path:"device" doc:"the device"`
	Receipt bool   `query:"receipt" doc:"true: add a signed receipt"`
	Body    wire.DigestsPost
}

// compare serves POST /v1/streams/{stream}/devices/{device}/digests.
func (h *digestsHandler) compare(ctx context.Context, in *digestsPost) (*reply[wire.DifferencesBody], error) {
	body, err := h.differences(ctx, in)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.DifferencesBody]{Body: *body}, nil
}

func (h *digestsHandler) differences(ctx context.Context, in *digestsPost) (*wire.DifferencesBody, error) {
	series := varve.Series{Tenant: tenantOf(ctx), Stream: in.Stream, Device: in.Device}
	if err := varve.ValidateName("stream", in.Stream); err != nil {
		return nil, varve.InvalidParam("path.stream", "%s", err)
	}
	if err := varve.ValidateDevice(in.Device); err != nil {
		return nil, varve.InvalidParam("path.device", "%s", err)
	}
	period, err := rollup.ParsePeriod(in.Body.Period)
	if err != nil {
		return nil, varve.InvalidParam("body.period", "%s", err)
	}
	spans := make([]reconcile.Span, len(in.Body.Spans))
	windows := make([]varve.Window, len(spans))
	for i := range spans {
		spans[i] = reconcile.Span(in.Body.Spans[i])
		windows[i] = spans[i].Window(period)
	}
	d, err := h.reader.Differ(ctx, series, period, spans)
	if err != nil {
		return nil, prefixParam(err, "body")
	}
	body := &wire.DifferencesBody{Differ: texts(d.Differ), Expired: texts(d.Expired), Compared: d.Compared, CompleteFrom: d.CompleteFrom}
	if in.Receipt {
		body.Receipt, err = h.sign(ctx, series, windows, d.Total)
	}
	return body, err
}

// texts formats times as RFC 3339, without fractions of a second.
func texts(times []time.Time) []string {
	list := make([]string, len(times))
	for i, t := range times {
		list[i] = t.Format(time.RFC3339)
	}
	return slices.Clip(list)
}

// key serves GET /v1/receipts/key.
func (h *digestsHandler) key(r *http.Request) (receipts.Key, error) {
	if err := writes.Known(r.URL.Query()); err != nil {
		return receipts.Key{}, err
	}
	if h.keyring == nil {
		return receipts.Key{}, varve.Errorf(varve.NotFound, "this server signs no receipts")
	}
	signer, err := h.keyring.Signer(r.Context())
	if err != nil {
		return receipts.Key{}, err
	}
	return signer.Key(), nil
}
