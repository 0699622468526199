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
	"slices"
	"strconv"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// Query selects readings of one device. From and To are as in the API: RFC 3339, a date or month, a number of
// milliseconds, now, today, yesterday, or relative to now as in -24h or -1mo. If From or To is empty, the
// window has no limit on that side.
type Query struct {
	Stream, Device string
	From, To       string
	During         string // instead of From and To: a year, month, day, hour or minute in UTC, as in 2024-12-01T14
	Order          varve.Order
	Limit          int // maximum number of readings; 0 means all
	Fields         []string
	Where          string // if set, the filter that readings must match, as in temperature>30 and level=error
	ScanLimit      int    // with Where: maximum number of readings that one request compares with Where; 0 means the server's limit
	Cursor         string
	Consistent     bool
	SkipDamaged    bool   // if true, omits damaged rows and lists them in the coverage
	AsOf           string // only readings that had arrived by this time, in the forms of From; "" means all
	Versions       bool   // if true, all versions of each reading; otherwise only the highest one
	Archive        string // true: also archived tables; only: archived tables alone; "" means the server's setting
	Numbers        string // only for Raw in the format wire.Arrow: exact or float; "" means exact
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
	set("where", q.Where)
	if q.ScanLimit > 0 {
		v.Set("scan_limit", strconv.Itoa(q.ScanLimit))
	}
	set("cursor", q.Cursor)
	if q.Consistent {
		v.Set("consistent", "true")
	}
	if q.SkipDamaged {
		v.Set("damaged", "skip")
	}
	set("numbers", q.Numbers)
	set("as_of", q.AsOf)
	set("archive", q.Archive)
	if q.Versions {
		v.Set("versions", "true")
	}
	return v
}

// Answer describes the answer to a query. The server sends these values after the readings.
type Answer struct {
	Next     string // the cursor of the next page; "" after the last
	Coverage query.Coverage
	Notes    []wire.Note // remarks on names that do not exist, such as a requested field that no reading has
}

// Readings yields the readings of a query in order, while it receives the answer. A reading is valid
// until the next one is yielded. If answer is not nil, *answer is set after the last reading.
//
// With Where, the server may end pages early. Readings requests the following pages, up to the limit.
func (c ReadingCalls) Readings(ctx context.Context, q Query, answer *Answer) iter.Seq2[*varve.Reading, error] {
	return func(yield func(*varve.Reading, error) bool) {
		whole := Answer{}
		for first := true; ; first = false {
			p := readingsPage{q: &q, yield: yield}
			if !c.readPage(ctx, &p) {
				return
			}
			whole.add(&p.answer, first)
			if q.Where == "" || whole.Next == "" || q.Limit > 0 && p.n >= q.Limit {
				break
			}
			if q.Cursor = whole.Next; q.Limit > 0 {
				q.Limit -= p.n
			}
		}
		if answer != nil {
			*answer = whole
		}
	}
}

// readingsPage is a page of readings, and the function that receives them.
type readingsPage struct {
	q      *Query
	yield  func(*varve.Reading, error) bool
	n      int // number of readings passed to yield
	answer Answer
}

// readPage passes the readings of a page to p.yield. It reports whether the page was read to its end.
func (c ReadingCalls) readPage(ctx context.Context, p *readingsPage) bool {
	resp, err := c.Raw(ctx, *p.q, wire.NDJSON)
	if err != nil {
		p.yield(nil, err)
		return false
	}
	// Ignore an error of Close: the loop reads the answer to its end, or the caller discards the rest.
	defer func() { _ = resp.Body.Close() }()
	in := wire.NewAnswerReader(resp.Body, varve.Series{Tenant: varve.DefaultTenant, Stream: p.q.Stream, Device: p.q.Device})
	var b wire.Batch
	for {
		b.Reset()
		err := in.Read(&b)
		if err != nil && !errors.Is(err, io.EOF) {
			p.yield(nil, fmt.Errorf("the answer is incomplete: %w", err))
			return false
		}
		for i := range b.Readings {
			p.n++
			if !p.yield(&b.Readings[i], nil) {
				return false
			}
		}
		if err != nil {
			break
		}
	}
	if err := p.answer.fill(resp); err != nil {
		p.yield(nil, err)
		return false
	}
	return true
}

// add adds the answer of a page. A note remains only if every page has it.
func (a *Answer) add(page *Answer, first bool) {
	a.Next = page.Next
	if first {
		a.Coverage, a.Notes = page.Coverage, page.Notes
		return
	}
	a.Notes = slices.DeleteFunc(a.Notes, func(n wire.Note) bool { return !slices.Contains(page.Notes, n) })
	c, p := &a.Coverage, &page.Coverage
	for _, l := range []struct {
		to   *[]string
		from []string
	}{{&c.Read, p.Read}, {&c.Expired, p.Expired}, {&c.Archived, p.Archived}, {&c.Failed, p.Failed}} {
		*l.to = slices.Compact(slices.Sorted(slices.Values(append(*l.to, l.from...))))
	}
	c.Expiry = c.Expiry.Merge(p.Expiry)
	c.AsOf = c.AsOf.Merge(p.AsOf)
	c.Damaged = append(c.Damaged, p.Damaged...)
	c.MoreDamaged += p.MoreDamaged
	c.Conflicts += p.Conflicts
	c.MoreRead, c.MoreExpired = max(c.MoreRead, p.MoreRead), max(c.MoreExpired, p.MoreExpired)
	c.MoreArchived = max(c.MoreArchived, p.MoreArchived)
	c.MoreFailed = max(c.MoreFailed, p.MoreFailed)
	c.AddMissing(p)
}

func (a *Answer) fill(resp *http.Response) (err error) {
	if a.Next, err = NextOf(resp); err != nil {
		return err
	}
	if text := resp.Trailer.Get("Varve-Notes"); text != "" {
		if err := json.Unmarshal([]byte(text), &a.Notes); err != nil {
			return fmt.Errorf("the answer's notes: %w", err)
		}
	}
	a.Coverage, err = CoverageOf(resp)
	return err
}

// CoverageOf returns the coverage in the trailers of an answer that was read to its end. If it has none, the
// coverage is empty.
func CoverageOf(resp *http.Response) (c query.Coverage, err error) {
	text := resp.Trailer.Get("Varve-Coverage")
	if text == "" {
		return c, nil
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, fmt.Errorf("the answer's coverage: %w", err)
	}
	return c, nil
}

// Raw returns the answer to a query in the given format, as the server writes it. The caller must close
// the body of the answer. If the server cuts off an answer in NDJSON, the body returns the error of its
// last line. For wire.Arrow, ipc.NewReader of github.com/apache/arrow-go can read the body.
func (c ReadingCalls) Raw(ctx context.Context, q Query, f wire.Format) (*http.Response, error) {
	resp, err := c.do(ctx, request{
		method: http.MethodGet, path: seriesPath(q.Stream, q.Device, "readings"), query: q.values(),
		header: http.Header{"Accept": {strings.TrimSuffix(f.MediaType(), "; charset=utf-8")}},
	})
	return withErrorLine(resp, f), err
}

// Explain returns the tables that a query would read, and the requests that it would need. It reads no
// readings.
func (c ReadingCalls) Explain(ctx context.Context, q Query) (wire.Explained, error) {
	v := q.values()
	v.Set("explain", "true")
	return getJSON[wire.Explained](ctx, c.connection, request{method: http.MethodGet, path: seriesPath(q.Stream, q.Device, "readings"), query: v})
}
