package client

import (
	"context"
	"github.com/varvedb/varve/api/wire"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// RollupQuery selects roll-ups of one device. From and To are as in a Query.
type RollupQuery struct {
	Stream, Device string
	Period         string // hourly or daily
	From, To       string
	Fields         []string
	Limit          int // periods in a page; 0 means the server's default
}

func (q *RollupQuery) values() url.Values {
	v := url.Values{"period": {q.Period}}
	for name, value := range map[string]string{"from": q.From, "to": q.To, "fields": strings.Join(q.Fields, ",")} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// Rollups yields the roll-ups of a query in order, page by page.
func (c ReadingCalls) Rollups(ctx context.Context, q RollupQuery) iter.Seq2[wire.RollupBody, error] {
	return func(yield func(wire.RollupBody, error) bool) {
		for {
			page, err := c.RollupsPage(ctx, q)
			if err != nil {
				yield(wire.RollupBody{}, err)
				return
			}
			for _, r := range page.Rollups {
				if !yield(r, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.From = page.Next
		}
	}
}

// RollupsPage returns one page of roll-ups; its Next is the From of the next one.
func (c ReadingCalls) RollupsPage(ctx context.Context, q RollupQuery) (wire.RollupsBody, error) {
	return getJSON[wire.RollupsBody](ctx, c.connection, request{method: http.MethodGet, path: seriesPath(q.Stream, q.Device, "rollups"), query: q.values()})
}

// RebuildRollups recounts hours whose readings were written while roll-ups were off,
// and returns their number.
func (c ReadingCalls) RebuildRollups(ctx context.Context, stream, device, from, to string) (wire.Rebuilt, error) {
	v := url.Values{}
	for name, value := range map[string]string{"from": from, "to": to} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return getJSON[wire.Rebuilt](ctx, c.connection, request{method: http.MethodPost, path: seriesPath(stream, device, "rollups"), query: v})
}
