package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/timefmt"
)

// RollupQuery selects roll-ups of one device. From and To are as in a Query.
type RollupQuery struct {
	Stream, Device string
	Period         string // hourly (also ""), or daily
	From, To       string
	During         string // instead of From and To
	Fields         []string
	AsOf           string // only readings that had arrived by this time, in the forms of From
	Limit          int    // maximum number of periods in a page; 0 means the server's default
}

func (q *RollupQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"period": q.Period, "from": q.From, "to": q.To, "during": q.During, "as_of": q.AsOf, "fields": strings.Join(q.Fields, ",")} {
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
		// The queries for further pages set From, which cannot be combined with During.
		if w, err := timefmt.ParseWindow(q.During); err == nil && q.From+q.To == "" {
			q.During, q.From, q.To = "", w.From.Format(time.RFC3339), w.To.Format(time.RFC3339)
		}
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

// RollupsPage returns one page of roll-ups. For the next page, set From to the Next of the answer. From
// cannot be combined with During, so use To instead of During.
func (c ReadingCalls) RollupsPage(ctx context.Context, q RollupQuery) (wire.RollupsBody, error) {
	return getJSON[wire.RollupsBody](ctx, c.connection, request{method: http.MethodGet, path: seriesPath(q.Stream, q.Device, "rollups"), query: q.values()})
}

// RebuildRollups recounts hours whose readings were written while roll-ups were off, and returns
// the number of these hours.
func (c ReadingCalls) RebuildRollups(ctx context.Context, stream, device, from, to string) (wire.Rebuilt, error) {
	return c.RebuildRollupsOf(ctx, RollupQuery{Stream: stream, Device: device, From: from, To: to})
}

// RebuildRollupsOf does the same as RebuildRollups, for the series and the window of a query.
func (c ReadingCalls) RebuildRollupsOf(ctx context.Context, q RollupQuery) (wire.Rebuilt, error) {
	v := url.Values{}
	setParams(v, map[string]string{"from": q.From, "to": q.To, "during": q.During})
	return getJSON[wire.Rebuilt](ctx, c.connection, request{method: http.MethodPost, path: seriesPath(q.Stream, q.Device, "rollups"), query: v})
}
