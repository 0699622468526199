package rollup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/mem"
)

// TestRead_BoundsBytesOfPages reads the hours and the days of a device with 2000 long names of fields. Each page
// must have at least one period and few bytes, and all pages together must have each period once.
func TestRead_BoundsBytesOfPages(t *testing.T) {
	const periods, fields = 60, 2000
	s := varve.Series{Tenant: "acme", Stream: "weather", Device: "gateway"}
	items := mem.New(time.Now)
	p, one := Partial{Readings: 1}, varve.IntValue(1).Number()
	for i := range fields {
		f := Field{Name: fmt.Sprintf("%04d%s", i, strings.Repeat("x", 200))}
		f.add(one, Point{At: varve.Position{ID: varve.HashID(1)}, Value: one})
		p.Fields = append(p.Fields, f)
	}
	for i := range int64(periods) {
		parts := append(p.items(hourKey(s, i, i/24), maxPartBytes), p.items(dayKey(s, i, i), maxPartBytes)...)
		if err := items.PutAll(t.Context(), parts); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(items, nil, IgnoreResent)
	for _, q := range []Query{{Period: Hourly}, {Period: Daily}, {Period: Hourly, Fields: []string{p.Fields[7].Name}}} {
		q.Series, q.Window, q.Limit = s, varve.AllTime(), MaxLimit
		next := int64(0)
		for more := true; more; {
			page, err := r.Read(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(page.Rollups); n == 0 || n*fields*200 > 18<<20 {
				t.Errorf("%s: a page has %d roll-ups with %d fields", q.Period, n, fields)
			}
			for i := range page.Rollups {
				if want := q.Period.start(next); !page.Rollups[i].Start.Equal(want) {
					t.Fatalf("%s: roll-up of %s, want %s", q.Period, page.Rollups[i].Start, want)
				}
				next++
			}
			q.Window.From, more = page.Next, !page.Next.IsZero()
		}
		if next != periods {
			t.Errorf("%s: %d roll-ups, want %d", q.Period, next, periods)
		}
	}
}
