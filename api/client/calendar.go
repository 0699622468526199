package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/varvedb/varve/api/wire"
)

// CalendarQuery has the options of a forecast.
type CalendarQuery struct {
	Years          int      // number of years to forecast; 0 means the server's default
	ReadingsPerDay []string // as CLASS=N: assumes N readings a day for the class, instead of the measured load
}

// Calendar returns the forecast of the tables for the years in the query. If p is set, it simulates p instead
// of the policy in use.
func (c OperatorCalls) Calendar(ctx context.Context, q CalendarQuery, p *wire.PolicyBody) (wire.CalendarBody, error) {
	r := request{method: http.MethodGet, path: "/v1/tables/calendar", query: url.Values{}}
	if q.Years > 0 {
		r.query.Set("years", strconv.Itoa(q.Years))
	}
	if len(q.ReadingsPerDay) > 0 {
		r.query.Set("readings_per_day", strings.Join(q.ReadingsPerDay, ","))
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
