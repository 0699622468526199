package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/varvedb/varve/api/wire"
)

// Calendar returns the forecast of the tables for some years. If p is set, it simulates p instead
// of the policy in use. 0 years means the server's default.
func (c OperatorCalls) Calendar(ctx context.Context, years int, p *wire.PolicyBody) (wire.CalendarBody, error) {
	r := request{method: http.MethodGet, path: "/v1/tables/calendar", query: url.Values{}}
	if years > 0 {
		r.query.Set("years", strconv.Itoa(years))
	}
	if p != nil {
		r.method, r.header = http.MethodPost, http.Header{"Content-Type": {"application/json"}}
		r.body = func() (io.Reader, error) {
			body, err := json.Marshal(p)
			return bytes.NewReader(body), err
		}
	}
	return getJSON[wire.CalendarBody](ctx, c.connection, r)
}
