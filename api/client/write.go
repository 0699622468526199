package client

import (
	"bytes"
	"context"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"io"
	"net/http"
	"net/url"
)

// Body is a body of readings for Write.
type Body struct {
	Data     []byte
	Format   wire.Format
	Encoding string     // gzip or zstd; if empty, the body is not compressed
	Params   url.Values // query parameters of POST /v1/streams/{stream}/readings
}

// Write writes a body of readings. Readings that the answer counts as stored or as duplicates are
// durable. After an error, some readings of the body may be stored; resending them is harmless.
//
// Without a stream, the body must be line protocol, in which each line names its stream.
func (c ReadingCalls) Write(ctx context.Context, stream string, b Body) (wire.WriteAnswer, error) {
	header := http.Header{"Content-Type": {b.Format.MediaType()}}
	if b.Encoding != "" {
		header.Set("Content-Encoding", b.Encoding)
	}
	path := "/v1/streams/" + segment(stream) + "/readings"
	if stream == "" {
		path = "/v1/readings"
	}
	return getJSON[wire.WriteAnswer](ctx, c.connection, request{
		method: http.MethodPost, path: path,
		query: b.Params, header: header,
		body:   func() (io.Reader, error) { return bytes.NewReader(b.Data), nil },
		accept: []int{http.StatusMultiStatus, http.StatusUnprocessableEntity},
	})
}

// WriteReadings writes readings of one stream. The server sets their tenants and
// arrivals.
func (c ReadingCalls) WriteReadings(ctx context.Context, stream string, readings []varve.Reading) (wire.WriteAnswer, error) {
	var data []byte
	for i := range readings {
		data = append(wire.AppendSubmission(data, &readings[i]), '\n')
	}
	return c.Write(ctx, stream, Body{Data: data, Format: wire.NDJSON})
}
