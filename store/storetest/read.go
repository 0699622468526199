package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

func sortReadings(rs []varve.Reading) {
	slices.SortFunc(rs, func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
}

func testValues(t *testing.T, e *env) {
	e.create(t, weekTable())
	meta, err := varve.JSONValue([]byte(`{"fw":"2.1.0","at":[1,2.50,{"deep":null}],"ok":true}`))
	if err != nil {
		t.Fatal(err)
	}
	numbers := []string{
		"0", "0.0", "-1", "42.0", "22.4", "0.20199999999999999", "1e125", "9.99e-130",
		"12345678901234567890123456789012345678", "-0.12345678901234567890123456789012345678",
		"18446744073709551615", "18446744073709551616", "-9223372036854775808", "1e19", "0.000001",
	}
	var want []varve.Reading
	add := func(fields ...varve.Field) {
		want = append(want, with("a", start.Add(time.Duration(len(want))), fields...)) // the readings are a nanosecond apart
	}
	for _, n := range numbers {
		add(varve.Field{Name: "n", Value: number(n)})
	}
	for _, s := range []string{"", "x", "with \"quotes\"\n\x00 and ünïcode", strings.Repeat("long ", 5000)} {
		add(varve.Field{Name: "s", Value: varve.StringValue(s)})
	}
	add(varve.Field{Name: "b", Value: varve.BoolValue(true)}, varve.Field{Name: "f", Value: varve.BoolValue(false)})
	add(varve.Field{Name: "metadata", Value: meta}, varve.Field{Name: "n", Value: number("1.50")})
	// The field n is a string in this reading. The next reading has a hundred fields.
	add(varve.Field{Name: "n", Value: varve.StringValue("offline")})
	var many []varve.Field
	for i := range 100 {
		many = append(many, varve.Field{Name: fmt.Sprintf("f%03d", i), Value: number(fmt.Sprintf("%d.%d", i, i))})
	}
	add(many...)
	if got := e.write(t, weekTable(), want...); strings.Trim(got, "s") != "" {
		t.Fatalf("verdicts %s", got)
	}
	e.expect(t, weekTable(), "a", want...)
	// The scale of a number does not change the identity of a reading.
	same := with("a", want[3].Time, varve.Field{Name: "n", Value: number("4.2e1")})
	if got := e.write(t, weekTable(), same); got != "d" {
		t.Fatalf("42.0 resent as 4.2e1: %s, want d", got)
	}
}

func testWindows(t *testing.T, e *env) {
	e.create(t, weekTable())
	var rows []varve.Reading
	for i := range 10 {
		rows = append(rows, reading("a", start.Add(time.Duration(i)*time.Minute), fmt.Sprint(i)))
	}
	for _, i := range []int{3, 1, 0, 9, 8, 2, 4, 7, 6, 5} {
		e.write(t, weekTable(), rows[i])
	}
	at := func(i int) time.Time { return rows[i].Time }
	cases := []struct {
		reason   string
		window   varve.Window
		from, to int
	}{
		{"everything", varve.AllTime(), 0, 10},
		{"from is in, to is not", varve.Window{From: at(2), To: at(5)}, 2, 5},
		{"a nanosecond after from", varve.Window{From: at(2).Add(1), To: at(5).Add(1)}, 3, 6},
		{"one instant", varve.Window{From: at(4), To: at(4).Add(1)}, 4, 5},
		{"empty window", varve.Window{From: at(4), To: at(4)}, 0, 0},
		{"between readings", varve.Window{From: at(4).Add(1), To: at(5)}, 0, 0},
		{"before all", varve.Window{From: at(0).Add(-time.Hour), To: at(0)}, 0, 0},
		{"after all", varve.Window{From: at(9).Add(1), To: at(9).Add(time.Hour)}, 0, 0},
	}
	for _, c := range cases {
		for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
			got, err := e.all(t.Context(), store.Range{Table: weekTable(), Series: device("a"), Window: c.window, Order: order})
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(rows[c.from:c.to])
			if order == varve.Descending {
				slices.Reverse(want)
			}
			t.Run(c.reason+" "+order.String(), func(t *testing.T) { same(t, got, want) })
		}
	}
}

func testPages(t *testing.T, e *env) {
	e.create(t, weekTable())
	var rows []varve.Reading
	for i := range 100 {
		// Each pair of readings has the same event time.
		rows = append(rows, reading("a", start.Add(time.Duration(i/2)*time.Second), fmt.Sprint(i)))
	}
	e.write(t, weekTable(), rows...)
	sortReadings(rows)
	for _, limit := range []int{1, 7, 50, 99, 100, 101} {
		for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
			r := store.Range{Table: weekTable(), Series: device("a"), Window: varve.AllTime(), Order: order, Limit: limit, Consistent: true}
			first, err := e.Read(t.Context(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(first.Readings); n > limit || n == 0 {
				t.Fatalf("limit %d: %d readings", limit, n)
			}
			got, err := e.all(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if order == varve.Descending {
				slices.Reverse(got)
			}
			same(t, got, rows)
		}
	}
	// Continue after a position that has no reading.
	after := varve.Position{Time: rows[10].Time.UnixNano() + 1}
	r := store.Range{Table: weekTable(), Series: device("a"), Window: varve.AllTime(), After: &after, Limit: 1, Consistent: true}
	page, err := e.Read(t.Context(), r, make([]varve.Reading, 0, 4))
	if err != nil {
		t.Fatal(err)
	}
	same(t, page.Readings, rows[12:13])
}

func testSeriesApart(t *testing.T, e *env) {
	e.create(t, weekTable())
	// A store that only joins the three names would confuse these series.
	series := []varve.Series{
		{Tenant: "a", Stream: "b", Device: "c"},
		{Tenant: "a", Stream: "b", Device: "c/d"},
		{Tenant: "a", Stream: "b", Device: "cc"},
		{Tenant: "a", Stream: "bb", Device: "c"},
		{Tenant: "a.b", Stream: "b", Device: "c"},
		{Tenant: "a", Stream: "b", Device: "ü \\ # é"},
	}
	for i, s := range series {
		r := varve.Reading{Series: s, Time: start, Arrived: start, Fields: []varve.Field{{Name: "n", Value: varve.IntValue(int64(i))}}}
		normalize(&r)
		if got := e.write(t, weekTable(), r); got != "s" {
			t.Fatalf("%s: %s", s, got)
		}
	}
	for i, s := range series {
		got, err := e.all(t.Context(), store.Range{Table: weekTable(), Series: s, Window: varve.AllTime()})
		if err != nil || len(got) != 1 || got[0].Series != s || got[0].Field("n").String() != fmt.Sprint(i) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	e.expect(t, weekTable(), "nobody")
}

func testReadNoTable(t *testing.T, e *env) {
	r := store.Range{Table: weekTable(), Series: device("a"), Window: varve.AllTime()}
	if _, err := e.Read(t.Context(), r, nil); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("read: %v, want ErrNoTable", err)
	}
	if _, _, _, err := e.Latest(t.Context(), store.Latest{Table: weekTable(), Series: device("a")}); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("latest: %v, want ErrNoTable", err)
	}
	if _, err := e.Estimate(t.Context(), r); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("estimate: %v, want ErrNoTable", err)
	}
}

func testEstimate(t *testing.T, e *env) {
	e.create(t, weekTable())
	for i := range 20 {
		e.write(t, weekTable(), reading("a", start.Add(time.Duration(i)*time.Second), "1"))
	}
	r := store.Range{Table: weekTable(), Series: device("a"), Window: varve.AllTime()}
	cost, err := e.Estimate(t.Context(), r)
	if err != nil || cost.Requests < 1 {
		t.Fatalf("%+v, %v", cost, err)
	}
}

func testLatestByEvent(t *testing.T, e *env) {
	e.create(t, weekTable())
	if _, ok, _, err := e.Latest(t.Context(), store.Latest{Table: weekTable(), Series: device("a"), Consistent: true}); ok || err != nil {
		t.Fatalf("empty table: %v %v", ok, err)
	}
	old, recent := reading("a", start, "1"), reading("a", start.Add(time.Hour), "2")
	late := arrived(reading("a", start.Add(time.Minute), "3"), start.Add(2*time.Hour))
	e.write(t, weekTable(), recent, old, late)
	e.latest(t, varve.ByEvent, time.Time{}, &recent)
	// If two readings have the same event time, the one with the greater id is the latest.
	twin := reading("a", recent.Time, "5")
	e.write(t, weekTable(), twin)
	if twin.ID.Compare(recent.ID) < 0 {
		twin = recent
	}
	e.latest(t, varve.ByEvent, time.Time{}, &twin)
}

func testLatestByArrival(t *testing.T, e *env) {
	e.create(t, weekTable())
	recent := reading("a", start.Add(time.Hour), "2")
	late := arrived(reading("a", start.Add(-time.Hour), "3"), start.Add(2*time.Hour))
	e.write(t, weekTable(), recent)
	e.latest(t, varve.ByArrival, time.Time{}, &recent)
	e.write(t, weekTable(), late)
	e.latest(t, varve.ByArrival, time.Time{}, &late)
	// If two readings have the same arrival, the one with the greater position is the latest.
	other := arrived(reading("a", start.Add(-time.Minute), "4"), late.Arrived)
	e.write(t, weekTable(), other)
	e.latest(t, varve.ByArrival, time.Time{}, &other)
}

func testLatestExpired(t *testing.T, e *env) {
	e.create(t, weekTable())
	// The reading with the newer event time arrived first and has expired. The other one arrived
	// late and has not expired.
	first := reading("a", start, "1")
	second := arrived(reading("a", start.Add(-time.Minute), "2"), start.Add(time.Hour))
	e.write(t, weekTable(), first, second)
	e.latest(t, varve.ByEvent, start, &second)
	e.latest(t, varve.ByArrival, start, &second)
	e.latest(t, varve.ByEvent, start.Add(-1), &first)
	e.latest(t, varve.ByEvent, start.Add(time.Hour), nil)
	e.latest(t, varve.ByArrival, start.Add(time.Hour), nil)
	// A reading whose event time is after its arrival expires by its event time.
	ahead := arrived(reading("a", start.Add(3*time.Hour), "3"), start.Add(-time.Hour))
	e.write(t, weekTable(), ahead)
	e.latest(t, varve.ByArrival, start.Add(2*time.Hour), &ahead)
}

func (e *env) latest(t *testing.T, by varve.By, cutoff time.Time, want *varve.Reading) {
	t.Helper()
	got, ok, _, err := e.Latest(t.Context(), store.Latest{
		Table: weekTable(), Series: device("a"), By: by, Cutoff: cutoff, Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	if ok != (want != nil) {
		t.Fatalf("latest by %s: found %v, want %v", by, ok, want)
	}
	if ok {
		same(t, []varve.Reading{got}, []varve.Reading{*want})
	}
}
