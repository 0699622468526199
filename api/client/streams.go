package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/varvedb/varve/api/wire"
)

// Streams lists the streams.
func (c ReadingCalls) Streams(ctx context.Context) (wire.StreamList, error) {
	return getJSON[wire.StreamList](ctx, c.connection, request{method: http.MethodGet, path: "/v1/streams"})
}

// Spread distributes the new readings of a device in a stream over several shards, on DynamoDB.
// It cannot be undone.
func (c ReadingCalls) Spread(ctx context.Context, stream, device string, shards int) (wire.StreamInfo, error) {
	return getJSON[wire.StreamInfo](ctx, c.connection, request{
		method: http.MethodPut, path: "/v1/streams/" + segment(stream) + "/devices/" + segment(device) + "/shards",
		header: http.Header{"Content-Type": {"application/json"}},
		body: func() (io.Reader, error) {
			body, err := json.Marshal(map[string]int{"shards": shards})
			return bytes.NewReader(body), err
		},
	})
}
