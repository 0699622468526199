package dynamo_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// readDefault returns the number of readings that a query without Consistent finds. It reads pages of
// limit readings with a cursor, or everything at once if limit is 0.
func (p *process) readDefault(series varve.Series, o varve.Order, limit int) (n int) {
	p.t.Helper()
	q := query.Query{Series: series, Window: varve.AllTime(), Order: o, Limit: limit}
	for {
		rows, err := p.query.Open(p.t.Context(), q)
		if err != nil {
			p.t.Fatal(err)
		}
		for {
			some, err := rows.Next(p.t.Context())
			if err != nil {
				p.t.Fatal(err)
			}
			if len(some) == 0 {
				break
			}
			n += len(some)
		}
		after, more := rows.More()
		rows.Close()
		if !more {
			return n
		}
		q.After = &after
	}
}

// TestQuery_FindsTablesOfOtherProcess writes into tables that another process has not used yet.
// The pages, exports and latest readings of that process must include the new readings.
func TestQuery_FindsTablesOfOtherProcess(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.Start(t)
			a, b := launch(t, url, "t_reg", nil), launch(t, url, "t_reg", nil)
			a.rotate()
			series := sensor(someTime, "v", varve.IntValue(0)).Series
			a.expect("a", a.write(sensor(someTime, "v", varve.IntValue(0))), varve.Stored)
			if n := b.readDefault(series, varve.Ascending, 0); n != 1 {
				t.Fatalf("b finds %d readings, want 1", n)
			}
			want := 1
			for i := range 8 { // each reading is written to an unused table
				at := someTime.AddDate(0, 0, -21*i-7)
				a.expect("a", a.write(sensor(at, "v", varve.IntValue(1))), varve.Stored)
				want++
				for what, n := range map[string]int{
					"export":        b.readDefault(series, varve.Ascending, 0),
					"newest first":  b.readDefault(series, varve.Descending, 0),
					"pages of 2":    b.readDefault(series, varve.Ascending, 2),
					"pages of 3, ↓": b.readDefault(series, varve.Descending, 3),
				} {
					if n != want {
						t.Errorf("%s: b finds %d readings of %d", what, n, want)
					}
				}
			}
			for _, by := range []varve.By{varve.ByEvent, varve.ByArrival} {
				r := sensor(someTime.Add(-time.Hour), "v", varve.IntValue(9))
				r.Device = "new" + by.String()
				a.expect("a", a.write(r), varve.Stored)
				got, err := b.query.Latest(t.Context(), query.LatestQuery{Series: r.Series, By: by})
				if err != nil || !got.Found {
					t.Errorf("latest by %s: found %v, %v", by, got.Found, err)
				}
			}
		})
	}
}

// TestQuery_FollowsLayoutOfOtherProcess spreads a device in one process. Another process that has
// already read the device must find all its readings.
func TestQuery_FollowsLayoutOfOtherProcess(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	a, b := launch(t, url, "t_reg", nil), launch(t, url, "t_reg", nil)
	series := sensor(someTime, "v", varve.IntValue(0)).Series
	a.expect("a", a.write(sensor(someTime, "v", varve.IntValue(0))), varve.Stored)
	if n := b.readDefault(series, varve.Ascending, 0); n != 1 {
		t.Fatalf("b finds %d readings, want 1", n)
	}
	if _, err := a.streams.Spread(t.Context(), series.Tenant, series.Stream, series.Device, 8); err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		a.expect("a", a.write(sensor(someTime.Add(time.Duration(i)*time.Minute), "w", varve.IntValue(int64(i)))), varve.Stored)
	}
	if n := b.readDefault(series, varve.Ascending, 0); n != 17 {
		t.Errorf("b finds %d readings of 17", n)
	}
}

// counting is a transport. It counts all requests in the field "all", and only queries and reads of
// items in the field "data".
type counting struct{ data, all atomic.Int64 }

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.all.Add(1)
	if target := r.Header.Get("X-Amz-Target"); strings.HasSuffix(target, "Query") || strings.HasSuffix(target, "GetItem") {
		c.data.Add(1)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestQuery_ChecksVersionOnce counts the requests of reads without Consistent. Besides the requests to
// tables, a read must send exactly one request, which reads the version of the catalog, for any number
// of devices.
func TestQuery_ChecksVersionOnce(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	c := &counting{}
	p := launch(t, url, "t_reg", c)
	devices := make([]string, 40)
	for i := range devices {
		devices[i] = fmt.Sprintf("d%d", i)
		r := sensor(someTime, "v", varve.IntValue(1))
		r.Device = devices[i]
		p.expect("write", p.write(r), varve.Stored)
	}
	series := varve.Series{Tenant: "acme", Stream: "weather", Device: "d0"}
	p.readDefault(series, varve.Ascending, 0)
	for _, one := range []struct {
		what string
		read func()
		want int64
	}{
		{"a query of one table", func() { p.readDefault(series, varve.Ascending, 0) }, 2},
		{"latest of 40", func() {
			if _, err := p.query.LatestOf(t.Context(), query.LatestQuery{Series: series}, devices); err != nil {
				t.Error(err)
			}
		}, 41},
	} {
		before := c.all.Load()
		if one.read(); c.all.Load()-before != one.want {
			t.Errorf("%s: %d requests, want %d", one.what, c.all.Load()-before, one.want)
		}
	}
}

// TestTables_CachesListOfEachClass lists the tables of several prefixes in turn, as queries of several
// retention classes do. Each list must be loaded once.
func TestTables_CachesListOfEachClass(t *testing.T) {
	t.Parallel()
	h := &actionHook{action: "ListTables"}
	s := openWith(t, dynamo.Options{Client: hooked(standIn(t), h), Registry: "t_registry", CacheFor: time.Hour})
	prefixes := []string{"a", "b", "c"}
	for i := range 20 {
		f := store.Filter{Prefixes: prefixes[i%len(prefixes):][:1], Window: varve.AllTime(), SkipEmpty: true, Version: "1"}
		if _, err := s.Tables(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.sent.Load(); n != int64(len(prefixes)) {
		t.Errorf("20 lists of %d prefixes sent %d requests, want %d", len(prefixes), n, len(prefixes))
	}
}
