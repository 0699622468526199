package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/arrivals"
)

// arrivalsHandler serves the numbers of readings that arrived at this process.
type arrivalsHandler struct{ counter *arrivals.Counter }

func (h *arrivalsHandler) addRoutes(o *operations) {
	huma.Register(o.api, huma.Operation{OperationID: "get-arrivals", Method: http.MethodGet, Path: "/v1/arrivals", Tags: []string{"readings"},
		Summary: "The readings that arrived at this process, by minute, stream, verdict and lag",
		Description: "Only of the tenant of the key. The counts begin with the process, and each process has its own. " +
			"The lag is the time from the event to the arrival, of stored readings."}, h.report)
}

func (h *arrivalsHandler) report(ctx context.Context, _ *struct{}) (*reply[wire.ArrivalsBody], error) {
	report := h.counter.Report(tenantOf(ctx))
	body := wire.ArrivalsBody{Since: report.Since, Minutes: make([]wire.ArrivalsMinute, len(report.Minutes)), Streams: make([]wire.ArrivalsStream, len(report.Streams))}
	for _, bound := range arrivals.Bounds() {
		body.Bounds = append(body.Bounds, int64(bound.Seconds()))
	}
	for i, m := range report.Minutes {
		body.Minutes[i] = wire.ArrivalsMinute{At: m.At, ArrivalCounts: wire.ArrivalCounts(m.Counts)}
	}
	for i, s := range report.Streams {
		body.Streams[i] = wire.ArrivalsStream{Stream: s.Name, ArrivalCounts: wire.ArrivalCounts(s.Counts), Lag: s.Lag}
	}
	return &reply[wire.ArrivalsBody]{body}, nil
}
