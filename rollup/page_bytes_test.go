package rollup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// Size of the data of TestRead_BoundsBytesOfPages.
const (
	widePeriods = 60
	wideFields  = 2000
	wideName    = 200
)

// wideReading returns a reading with many long names of fields at the start of an hour.
func wideReading(s varve.Series, hour int64) varve.Reading {
	at := Hourly.start(hour)
	r := varve.Reading{Series: s, Time: at, Arrived: at, ID: varve.HashID(1)}
	for i := range wideFields {
		r.Fields = append(r.Fields, varve.Field{Name: fmt.Sprintf("%04d%s", i, strings.Repeat("x", wideName)), Value: varve.IntValue(1)})
	}
	return r
}

// wideSource has one wide reading at the start of each of some hours.
type wideSource map[int64]bool

// ScanCopies implements Source.
func (h wideSource) ScanCopies(_ context.Context, s varve.Series, w varve.Window, scan store.CopyScanner) error {
	for hour := hourOf(w.From.Unix()); Hourly.start(hour).Before(w.To); hour++ {
		if !h[hour] {
			continue
		}
		r := wideReading(s, hour)
		if err := scan.Copy(store.Copy{Reading: &r, First: true}); err != nil {
			return err
		}
	}
	return nil
}

// TestRead_BoundsBytesOfPages reads the hours and the days of a device with 2000 long names of fields, from
// stored and from recounted partials. Each page must have at least one period and few bytes, and all pages
// together must have each period once.
func TestRead_BoundsBytesOfPages(t *testing.T) {
	s := varve.Series{Tenant: "acme", Stream: "weather", Device: "gateway"}
	only := []string{wideReading(s, 0).Fields[7].Name}
	for _, dirty := range []bool{false, true} {
		for _, q := range []Query{{Period: Hourly}, {Period: Daily}, {Period: Hourly, Fields: only}} {
			items, source := mem.New(time.Now), wideSource{}
			q.Series, q.Window, q.Limit = s, varve.AllTime(), MaxLimit
			for i := range int64(widePeriods) {
				hour := i * q.Period.hours()
				if dirty {
					source[hour] = true
				}
				putWide(t, items, &q, hour, dirty)
			}
			readWide(t, NewReader(items, source, IgnoreResent), q, dirty)
		}
	}
}

// putWide puts the partial of a period that begins at an hour, or a marker of the hour.
func putWide(t *testing.T, items store.Items, q *Query, hour int64, dirty bool) {
	t.Helper()
	day := hour / dayHours
	list := []store.Item{dirtyMarker{from: hour, hours: 1, arrival: day}.item(q.Series)}
	if !dirty {
		r := wideReading(q.Series, hour)
		var sum tally
		sum.add(&r)
		key := hourKey(q.Series, hour, day)
		if q.Period == Daily {
			key = dayKey(q.Series, day, day)
		}
		list = sum.result().items(key, maxPartBytes)
	}
	if err := items.PutAll(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

// readWide reads all pages of a query, and checks their sizes and periods.
func readWide(t *testing.T, r *Reader, q Query, dirty bool) {
	t.Helper()
	next, fields := int64(0), wideFields // stored items retain the texts of all fields
	if dirty && len(q.Fields) > 0 {
		fields = len(q.Fields)
	}
	for more := true; more; {
		page, err := r.Read(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Rollups); n == 0 || n*fields*wideName > 18<<20 {
			t.Errorf("%s, dirty %t: a page has %d roll-ups with %d fields", q.Period, dirty, n, fields)
		}
		for i := range page.Rollups {
			if want := q.Period.start(next); !page.Rollups[i].Start.Equal(want) {
				t.Fatalf("%s, dirty %t: roll-up of %s, want %s", q.Period, dirty, page.Rollups[i].Start, want)
			}
			next++
		}
		q.Window.From, more = page.Next, !page.Next.IsZero()
	}
	if next != widePeriods {
		t.Errorf("%s, dirty %t: %d roll-ups, want %d", q.Period, dirty, next, widePeriods)
	}
}
