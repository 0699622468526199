package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/varvedb/varve/api/wire"
)

// WhyQuery selects the reading that Why explains.
type WhyQuery struct {
	Device string
	Time   string // the event time, in a form that the API accepts
	ID     string // "" means any ID
	Stream string // "" means all streams of the tenant
}

// Why explains where a reading is stored, or why it is missing.
func (c ReadingCalls) Why(ctx context.Context, q WhyQuery) (wire.WhyBody, error) {
	values := url.Values{"time": {q.Time}}
	for name, value := range map[string]string{"id": q.ID, "stream": q.Stream} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return getJSON[wire.WhyBody](ctx, c.connection, request{
		method: http.MethodGet, path: "/v1/devices/" + segment(q.Device) + "/why", query: values,
	})
}
