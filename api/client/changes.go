package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// ChangesQuery selects the changes of a stream or a device.
type ChangesQuery struct {
	Stream string
	Device string // if empty, all devices
	// Since is a change cursor, or a time as Query.From. "" means the oldest time from which the changes
	// are complete.
	Since string
	Limit int           // maximum number of readings in a page; 0 means the server's default
	Wait  time.Duration // how long the server waits for the first change of a page; 0 means not at all
	// Settle is how long the server first waits until all acknowledged readings are settled. If they are not
	// settled by then, the call fails with varve.Conflict, and varve.Error.Param is "settle".
	Settle time.Duration
}

// ChangesPage describes a page of changes. The server sends these values after the readings.
type ChangesPage struct {
	Next    string    // the change cursor after the page
	More    bool      // further changes existed when the server ended the page
	Settled time.Time // if More is false, all readings that arrived before this time were returned
}

func (q *ChangesQuery) request(f wire.Format) request {
	v := url.Values{}
	if q.Since != "" {
		v.Set("since", q.Since)
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Wait > 0 {
		v.Set("wait", q.Wait.String())
	}
	if q.Settle > 0 {
		v.Set("settle", q.Settle.String())
	}
	path := streamPath(q.Stream) + "/arrivals"
	if q.Device != "" {
		path = seriesPath(q.Stream, q.Device, "arrivals")
	}
	return request{method: http.MethodGet, path: path, query: v, header: http.Header{"Accept": {strings.TrimSuffix(f.MediaType(), "; charset=utf-8")}}}
}

// RawChanges returns a page of changes as the server writes it. The caller must close the body of the
// answer. In formats other than JSON, the change cursor is a trailer: see PageOf.
func (c ReadingCalls) RawChanges(ctx context.Context, q ChangesQuery, f wire.Format) (*http.Response, error) {
	resp, err := c.do(ctx, q.request(f))
	return withErrorLine(resp, f), err
}

// errNoCursor means that an answer lacks its last part, or that a proxy dropped the trailers.
var errNoCursor = errors.New("the answer is incomplete: it has no trailer " + wire.HeaderNext + ": let proxies pass trailers, or use the address of the server")

// NextOf returns the cursor of the next page from the trailers of an answer that was read to its end. It
// returns "" for the last page. It fails if the trailer is missing.
func NextOf(resp *http.Response) (next string, err error) {
	values := resp.Trailer.Values(wire.HeaderNext)
	if len(values) == 0 {
		return "", errNoCursor
	}
	return values[0], nil
}

// PageOf returns the description of a page whose body was read to its end. It fails if the trailer
// HeaderNext or HeaderSettled is missing.
func PageOf(resp *http.Response) (p ChangesPage, err error) {
	p.Next, p.More = resp.Trailer.Get(wire.HeaderNext), resp.Trailer.Get(wire.HeaderMore) == "true"
	if p.Next == "" {
		return p, errNoCursor
	}
	p.Settled, err = time.Parse(time.RFC3339Nano, resp.Trailer.Get(wire.HeaderSettled))
	return p, err
}

// ReadChanges calls the function "each" for every reading of one page, until a call fails. The argument
// of a call is valid until the call returns.
func (c ReadingCalls) ReadChanges(ctx context.Context, q ChangesQuery, each func(*varve.Reading) error) (p ChangesPage, err error) {
	resp, err := c.RawChanges(ctx, q, wire.NDJSON)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	in := wire.NewAnswerReader(resp.Body, varve.Series{Tenant: varve.DefaultTenant, Stream: q.Stream, Device: q.Device})
	var b wire.Batch
	for {
		b.Reset()
		end := in.Read(&b)
		if end != nil && !errors.Is(end, io.EOF) {
			return p, fmt.Errorf("the answer is incomplete: %w", end)
		}
		for i := range b.Readings {
			if err := each(&b.Readings[i]); err != nil {
				return p, err
			}
		}
		if end != nil {
			return PageOf(resp)
		}
	}
}

// Changes yields the readings that arrived since q.Since, page by page. It ends after the last page that
// exists. With q.Wait, it continues until ctx ends. Each reading is valid until the next one.
//
// If cursor is not nil, *cursor becomes the change cursor after a page when all readings of the
// page were yielded. A program that stores this cursor with its results can continue from the
// cursor after a restart.
func (c ReadingCalls) Changes(ctx context.Context, q ChangesQuery, cursor *string) iter.Seq2[*varve.Reading, error] {
	return func(yield func(*varve.Reading, error) bool) {
		var errEnded = errors.New("ended")
		for {
			p, err := c.ReadChanges(ctx, q, func(r *varve.Reading) error {
				if !yield(r, nil) {
					return errEnded
				}
				return nil
			})
			if errors.Is(err, errEnded) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if q.Since = p.Next; cursor != nil {
				*cursor = p.Next
			}
			if !p.More && (q.Wait == 0 || ctx.Err() != nil) {
				return
			}
		}
	}
}
