package dynamo_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// writeWith writes readings with a layout. It returns the first letter of each outcome.
func writeWith(t *testing.T, s *dynamo.Store, tb grid.Table, l store.Layout, readings ...varve.Reading) string {
	t.Helper()
	res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: readings, Layout: func(varve.Series) store.Layout { return l }}})
	if res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	var letters []byte
	for _, v := range res[0].Verdicts {
		letters = append(letters, v.Outcome.String()[0])
	}
	return string(letters)
}

// measure returns the write requests and write units that a call of the function "do" uses.
func measure(s *dynamo.Store, do func()) (requests int64, units float64) {
	before := s.Usage()
	do()
	after := s.Usage()
	return after.Writes.Requests - before.Writes.Requests, after.Writes.Units - before.Writes.Units
}

// minutes returns one reading with two fields for each of n minutes.
func minutes(from time.Time, n int) []varve.Reading {
	list := make([]varve.Reading, n)
	for i := range list {
		r := sensor(from.Add(time.Duration(i)*time.Minute), "temperature", varve.IntValue(int64(200+i%50)))
		r.Fields = append(r.Fields, varve.Field{Name: "humidity", Value: varve.IntValue(int64(40 + i%7))})
		r.ID = varve.ID{}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			panic(v.String())
		}
		list[i] = r
	}
	return list
}

func newTable(t *testing.T, s *dynamo.Store) grid.Table {
	t.Helper()
	tb := tableOf("t", someTime)
	if err := s.Create(t.Context(), tb, store.Hot); err != nil {
		t.Fatal(err)
	}
	return tb
}

// TestWrite_PacksDayIntoHours writes a reading a minute for a day, with a row per hour. The day must take
// about one request per row, and resent readings must be duplicates.
func TestWrite_PacksDayIntoHours(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			s := open(t, e.Start(t), time.Now)
			tb := newTable(t, s)
			wide := store.Layout{RowWindow: time.Hour}
			day := minutes(someTime.Add(-12*time.Hour), 1440)
			requests, units := measure(s, func() {
				if got := writeWith(t, s, tb, wide, day...); got != repeat('s', 1440) {
					t.Errorf("the day: verdicts %s, want all stored", got)
				}
			})
			t.Logf("a day: %d requests, %v units", requests, units)
			if requests < 24 || requests > 26 || units > 0.12*1440 {
				t.Errorf("a day took %d requests and %v units, want 24 to 26 and at most %v", requests, units, 0.12*1440)
			}
			if got := writeWith(t, s, tb, wide, day...); got != repeat('d', 1440) {
				t.Errorf("the day resent: verdicts %s, want all duplicates", got)
			}
			whole := store.Range{Table: tb, Series: day[0].Series, Window: varve.AllTime(), Layout: wide, Consistent: true}
			compare(t, s, whole, day)
			cut := whole
			cut.Window = varve.Window{From: day[95].Time, To: day[1201].Time}
			compare(t, s, cut, day[95:1201])
		})
	}
}

func repeat(c byte, n int) string { return string(slices.Repeat([]byte{c}, n)) }

// compare reads a range in both orders and in pages of several sizes. Each read must return the
// wanted readings.
func compare(t *testing.T, s *dynamo.Store, r store.Range, want []varve.Reading) {
	t.Helper()
	for _, limit := range []int{0, 17, 400} {
		for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
			r.Limit, r.Order, r.After = limit, order, nil
			var got []varve.Reading
			for {
				page, err := s.Read(t.Context(), r, nil)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, page.Readings...)
				if !page.More {
					break
				}
				last := got[len(got)-1].Position()
				r.After = &last
			}
			if order == varve.Descending {
				slices.Reverse(got)
			}
			sameReadings(t, fmt.Sprintf("limit %d, order %v", limit, order), got, want)
		}
	}
}

func sameReadings(t *testing.T, what string, got, want []varve.Reading) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if g, w := got[i].String(), want[i].String(); g != w || !got[i].Arrived.Equal(want[i].Arrived) {
			t.Fatalf("%s: reading %d is %s, want %s", what, i, g, w)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d readings, want %d", what, len(got), len(want))
	}
}

// TestRead_ReturnsReadingsOfAllLayoutsOnce writes the same readings many times, with random row windows,
// shards and expected states of rows. Reads must return each reading once, in order.
func TestRead_ReturnsReadingsOfAllLayoutsOnce(t *testing.T) {
	t.Parallel()
	s := open(t, dynamotest.Dynoxide.Start(t), time.Now)
	tb := newTable(t, s)
	rng := rand.New(rand.NewPCG(3, 4))
	windows := []time.Duration{0, time.Second, 40 * time.Second, time.Minute, time.Hour}
	var readings []varve.Reading
	for range 400 { // readings within two hours: some share a time, and some differ by less than a millisecond
		at := someTime.Add(time.Duration(rng.IntN(7200)) * time.Second / 4 * 4)
		if rng.IntN(3) == 0 {
			at = at.Add(time.Duration(rng.IntN(3_000_000)))
		}
		readings = append(readings, sensor(at, "v", varve.IntValue(int64(rng.IntN(1000)))))
	}
	widest := store.Layout{}
	for range 60 {
		l := store.Layout{
			RowWindow: windows[rng.IntN(len(windows))], Shards: rng.IntN(4),
			Expect: store.Expect(rng.IntN(3)), DeleteAfter: time.Duration(rng.IntN(3)) * 24 * time.Hour,
		}
		widest = widest.Widen(l)
		from := rng.IntN(len(readings))
		some := readings[from:min(from+1+rng.IntN(60), len(readings))]
		if got := writeWith(t, s, tb, l, some...); len(got) != len(some) {
			t.Fatalf("%d verdicts: %s", len(got), got)
		}
	}
	writeWith(t, s, tb, store.Layout{}, readings...)
	want := slices.Clone(readings)
	slices.SortFunc(want, func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
	want = slices.CompactFunc(want, func(a, b varve.Reading) bool { return a.Position() == b.Position() })
	r := store.Range{Table: tb, Series: want[0].Series, Window: varve.AllTime(), Layout: widest, Consistent: true}
	compare(t, s, r, want)
	last, found, _, err := s.Latest(t.Context(), store.Latest{Table: tb, Series: want[0].Series, By: varve.ByEvent, Layout: widest, Consistent: true})
	if err != nil || !found || last.Time != want[len(want)-1].Time {
		t.Errorf("latest is %s, %v, %v", &last, found, err)
	}
}

// TestWrite_LearnsThatRowsExist writes 60 readings of an hour one by one, with a row window of an hour.
// With ExpectAuto or ExpectExisting, most writes must need a single request.
func TestWrite_LearnsThatRowsExist(t *testing.T) {
	t.Parallel()
	s := open(t, dynamotest.Dynoxide.Start(t), time.Now)
	tb := newTable(t, s)
	for _, c := range []struct {
		expect store.Expect
		most   int64
	}{
		{store.ExpectNew, 120},
		{store.ExpectAuto, 80},
		{store.ExpectExisting, 75},
	} {
		l := store.Layout{RowWindow: time.Hour, Expect: c.expect}
		live := minutes(someTime.Add(time.Duration(c.most)*time.Hour), 60)
		requests, units := measure(s, func() {
			for _, r := range live {
				if got := writeWith(t, s, tb, l, r); got != "s" {
					t.Errorf("at %s: verdict %s, want s", r.Time, got)
				}
			}
		})
		t.Logf("expecting %d: %d requests, %v units", c.expect, requests, units)
		if requests > c.most {
			t.Errorf("expecting %d: %d requests, %v units, want at most %d requests", c.expect, requests, units, c.most)
		}
	}
}

// TestWrite_UsesLastExpiryOfRow adds readings with several expiries to a row. The row must have
// the latest expiry, or none if a reading never expires.
func TestWrite_UsesLastExpiryOfRow(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	s := open(t, url, time.Now)
	tb := newTable(t, s)
	dated := store.Layout{DeleteAfter: 30 * 24 * time.Hour}
	late := sensor(someTime, "v", varve.IntValue(2))
	late.Arrived = someTime.Add(time.Hour + 1)
	expires := func(d time.Duration) string { return fmt.Sprint(someTime.Add(dated.DeleteAfter + d).Unix()) }
	for _, c := range []struct {
		what   string
		layout store.Layout
		r      varve.Reading
		want   string
	}{
		{"one", dated, sensor(someTime, "v", varve.IntValue(1)), expires(0)},
		{"a later one", dated, late, expires(time.Hour + time.Second)},
		{"an earlier one", dated, sensor(someTime, "v", varve.IntValue(3)), expires(time.Hour + time.Second)},
		{"one, expected to exist", store.Layout{DeleteAfter: dated.DeleteAfter, Expect: store.ExpectExisting}, sensor(someTime, "v", varve.IntValue(4)), expires(time.Hour + time.Second)},
		{"one without expiry", store.Layout{}, sensor(someTime, "v", varve.IntValue(5)), ""},
		{"one more", dated, sensor(someTime, "v", varve.IntValue(6)), ""},
	} {
		if got := writeWith(t, s, tb, c.layout, c.r); got != "s" {
			t.Errorf("%s: verdict %s, want s", c.what, got)
		}
		if got := ttlOf(t, url, tb, someTime); got != c.want {
			t.Errorf("%s: the row's _ttl is %q, want %q", c.what, got, c.want)
		}
	}
}

func ttlOf(t *testing.T, url string, tb grid.Table, at time.Time) string {
	t.Helper()
	name := tb.Name()
	out, err := dynamotest.Client(url).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: attrs{
		"series": &text{Value: "acme/weather/sensor_01"}, "ts": &number{Value: fmt.Sprint(at.UnixMilli())},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := out.Item["_ttl"].(*types.AttributeValueMemberN); ok {
		return n.Value
	}
	return ""
}

// TestWrite_RecreatesDeletedRow makes DynamoDB delete a row while the store updates it. The row
// must be recreated.
func TestWrite_RecreatesDeletedRow(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	w := &writeHook{}
	s := openOver(t, url, "t_registry", w)
	tb := newTable(t, s)
	send(t, s, tb, sensor(someTime, "v", varve.IntValue(1)))
	first := w.writes.Load()
	w.before = func(n int64) {
		if n != first+2 { // request first+2 updates the row that the previous request has read
			return
		}
		name := tb.Name()
		_, err := dynamotest.Client(url).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: attrs{
			"series": &text{Value: "acme/weather/sensor_01"}, "ts": &number{Value: fmt.Sprint(someTime.UnixMilli())},
		}})
		if err != nil {
			t.Error(err)
		}
	}
	if got := send(t, s, tb, sensor(someTime, "v", varve.IntValue(2))); got != "s" {
		t.Errorf("verdict %s, want s", got)
	}
	if n := w.writes.Load() - first; n != 3 {
		t.Errorf("%d writes, want 3", n)
	}
	if got := stored(t, s, tb); len(got) != 1 {
		t.Errorf("%d readings", len(got))
	}
}

// TestWrite_NoticesRecreatedRow recreates a row with the same number of readings while the store
// updates it. A reading without an expiry must not get one.
func TestWrite_NoticesRecreatedRow(t *testing.T) {
	t.Parallel()
	dated, unlimited := store.Layout{DeleteAfter: 24 * time.Hour}, store.Layout{}
	t.Run("first with expiry", func(t *testing.T) { recreateRow(t, dated, unlimited) })
	t.Run("then with expiry", func(t *testing.T) { recreateRow(t, unlimited, dated) })
}

// recreateRow adds a reading to a row while the row is recreated with another layout.
func recreateRow(t *testing.T, original, recreated store.Layout) {
	t.Helper()
	url := dynamotest.Dynoxide.Start(t)
	w := &writeHook{}
	s := openOver(t, url, "t_registry", w)
	tb := newTable(t, s)
	writeWith(t, s, tb, original, sensor(someTime, "v", varve.IntValue(1)))
	other := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry"})
	first := w.writes.Load()
	w.before = func(n int64) {
		if n != first+2 {
			return
		}
		name := tb.Name()
		if _, err := dynamotest.Client(url).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: attrs{
			"series": &text{Value: "acme/weather/sensor_01"}, "ts": &number{Value: fmt.Sprint(someTime.UnixMilli())},
		}}); err != nil {
			t.Error(err)
		}
		writeWith(t, other, tb, recreated, sensor(someTime, "v", varve.IntValue(2)))
	}
	if got := writeWith(t, s, tb, original, sensor(someTime, "v", varve.IntValue(3))); got != "s" {
		t.Errorf("verdict %s, want s", got)
	}
	if got := ttlOf(t, url, tb, someTime); got != "" {
		t.Errorf("the row's _ttl is %s, want none", got)
	}
	if got := stored(t, s, tb); len(got) != 2 {
		t.Errorf("%d readings", len(got))
	}
}
