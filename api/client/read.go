package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// Query selects readings of one device. From and To are as in the API: RFC 3339, a number of
// milliseconds, now, or relative to now as in -24h.
type Query struct {
	Stream, Device string
	From, To       string
	During         string // instead of From and To: a year, month, day, hour or minute in UTC, as in 2024-12-01T14
	Order          varve.Order
	Limit          int // 0 means all
	Fields         []string
	Cursor         string
	Consistent     bool
	SkipDamaged    bool // if true, omits damaged rows and lists them in the coverage
}

func (q *Query) values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("from", q.From)
	set("to", q.To)
	set("during", q.During)
	if q.Order == varve.Descending {
		v.Set("order", "desc")
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	set("fields", strings.Join(q.Fields, ","))
	set("cursor", q.Cursor)
	if q.Consistent {
		v.Set("consistent", "true")
	}
	if q.SkipDamaged {
		v.Set("damaged", "skip")
	}
	return v
}

// Answer describes the answer to a query after its readings were read.
type Answer struct {
	Next     string // the cursor of the next page; "" after the last
	Coverage query.Coverage
}

// Readings yields the readings of a query in order, while they arrive. A reading is valid until the
// next one is requested. If answer is not nil, it is set at the end.
func (c ReadingCalls) Readings(ctx context.Context, q Query, answer *Answer) iter.Seq2[*varve.Reading, error] {
	return func(yield func(*varve.Reading, error) bool) {
		resp, err := c.Raw(ctx, q, wire.NDJSON)
		if err != nil {
			yield(nil, err)
			return
		}
		// The error does not matter: a complete answer has been read to its end by then.
		defer func() { _ = resp.Body.Close() }()
		in := wire.NewAnswerReader(resp.Body, varve.Series{Tenant: varve.DefaultTenant, Stream: q.Stream, Device: q.Device})
		var b wire.Batch
		for {
			b.Reset()
			err := in.Read(&b)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, fmt.Errorf("the answer breaks off: %w", err))
				return
			}
			for i := range b.Readings {
				if !yield(&b.Readings[i], nil) {
					return
				}
			}
			if err != nil {
				break
			}
		}
		if answer != nil {
			if err := answer.fill(resp); err != nil {
				yield(nil, err)
			}
		}
	}
}

func (a *Answer) fill(resp *http.Response) error {
	a.Next = resp.Trailer.Get("Varve-Next")
	if text := resp.Trailer.Get("Varve-Coverage"); text != "" {
		if err := json.Unmarshal([]byte(text), &a.Coverage); err != nil {
			return fmt.Errorf("the answer's coverage: %w", err)
		}
	}
	return nil
}

// Raw returns the answer to a query as the server writes it, in a format. The caller closes its
// body.
func (c ReadingCalls) Raw(ctx context.Context, q Query, f wire.Format) (*http.Response, error) {
	return c.do(ctx, request{
		method: http.MethodGet, path: seriesPath(q.Stream, q.Device, "readings"), query: q.values(),
		header: http.Header{"Accept": {strings.TrimSuffix(f.MediaType(), "; charset=utf-8")}},
	})
}

// Explain returns the plan of a query.
func (c ReadingCalls) Explain(ctx context.Context, q Query) (wire.Explained, error) {
	v := q.values()
	v.Set("explain", "true")
	return getJSON[wire.Explained](ctx, c.connection, request{method: http.MethodGet, path: seriesPath(q.Stream, q.Device, "readings"), query: v})
}

// Latest is the latest reading of one device.
type Latest struct {
	Device   string
	Reading  *varve.Reading // nil if the device has no reading, or only expired ones
	Coverage query.Coverage
}

// Latest returns the latest readings of devices of a stream, in the order of the devices.
func (c ReadingCalls) Latest(ctx context.Context, stream string, by varve.By, devices ...string) ([]Latest, error) {
	type answer struct {
		Latest []struct {
			Device   string          `json:"device"`
			Reading  json.RawMessage `json:"reading"`
			Coverage query.Coverage  `json:"coverage"`
		} `json:"latest"`
	}
	a, err := getJSON[answer](ctx, c.connection, request{
		method: http.MethodGet, path: "/v1/streams/" + url.PathEscape(stream) + "/latest",
		query: url.Values{"device": devices, "by": {by.String()}},
	})
	if err != nil {
		return nil, err
	}
	var list []Latest
	for _, l := range a.Latest {
		one := Latest{Device: l.Device, Coverage: l.Coverage}
		if string(l.Reading) != "null" {
			r, err := wire.ParseAnswer(l.Reading, varve.Series{Tenant: varve.DefaultTenant, Stream: stream, Device: l.Device})
			if err != nil {
				return nil, err
			}
			one.Reading = &r
		}
		list = append(list, one)
	}
	return list, nil
}
