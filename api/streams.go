package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/streams"
	"github.com/varvedb/varve/timefmt"
)

type streamsHandler struct {
	*responder
	*directory
	registry *streams.Registry
	rotator  *rotator.Rotator
	archive  Archive
}

func (h *streamsHandler) addRoutes(o *operations) {
	huma.Register(o.api, huma.Operation{OperationID: "list-streams", Method: http.MethodGet, Path: "/v1/streams",
		Summary: "List the streams", Tags: []string{"streams"}}, h.listStreams)
	huma.Register(o.api, huma.Operation{OperationID: "spread-device", Method: http.MethodPut, Path: "/v1/streams/{stream}/devices/{device}/shards",
		Summary: "Spread a hot device over several keys", Tags: []string{"streams"},
		Description: "On DynamoDB, a key takes 1,000 write units a second. New readings of the device in the stream are spread over this number of keys; " +
			"queries read all of them and merge. The number cannot be lowered. Other processes take it up within a minute. Elsewhere it changes nothing."},
		h.spreadDevice)
}

func (h *streamsHandler) listStreams(ctx context.Context, _ *struct{}) (*reply[wire.StreamList], error) {
	list, err := h.registry.List(ctx, tenantOf(ctx))
	if err != nil {
		return nil, h.problem(err)
	}
	body := wire.StreamList{Streams: []wire.StreamInfo{}}
	for i := range list {
		body.Streams = append(body.Streams, h.streamInfo(&list[i]))
	}
	return &reply[wire.StreamList]{body}, nil
}

func (h *streamsHandler) streamInfo(st *streams.Stream) wire.StreamInfo {
	policy := h.rotator.Policy()
	return wire.StreamInfo{
		Name: st.Name, Class: policy.Retention.ClassOf(st.Name).Name, Classes: st.Classes,
		RowWindow: timefmt.FormatDuration(st.Layout("").Window()), Shards: st.Shards,
		Archive: h.archive.Streams[st.Name],
	}
}

type spreading struct {
	Stream string `path:"stream" doc:"the stream"`
	Device string `path:"device" doc:"the device"`
	Body   struct {
		Shards int `json:"shards" doc:"number of keys, from the current number to 64"`
	}
}

func (h *streamsHandler) spreadDevice(ctx context.Context, in *spreading) (*reply[wire.StreamInfo], error) {
	series := varve.Series{Tenant: tenantOf(ctx), Stream: in.Stream, Device: in.Device}
	if v := series.Validate(); v.Outcome == varve.Rejected {
		return nil, h.problem(varve.InvalidParam("path.device", "%s", v.Message))
	}
	st, err := h.registry.Spread(ctx, series.Tenant, series.Stream, series.Device, in.Body.Shards)
	if err != nil {
		return nil, h.problem(inBody(err))
	}
	info := h.streamInfo(&st)
	if info.Notes, err = h.noteNames(ctx, "path", series); err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.StreamInfo]{info}, nil
}
