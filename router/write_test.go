package router_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/router"
)

// faults has functions that make a reading invalid, by the code of the expected rejection.
var faults = map[string]func(*varve.Reading){
	"device_invalid": func(r *varve.Reading) { r.Device = "" },
	"stream_invalid": func(r *varve.Reading) { r.Stream = "no/stream" },
	"field_invalid":  func(r *varve.Reading) { r.Fields = nil },
	"time_in_future": func(r *varve.Reading) { r.Time = noon.Add(25 * time.Hour) },
	"time_too_old":   func(r *varve.Reading) { r.Time = time.Unix(-1, 0) },
	"too_large": func(r *varve.Reading) {
		r.Fields = []varve.Field{{Name: "v", Value: varve.StringValue(strings.Repeat("x", varve.MaxReadingBytes))}}
	},
}

// TestWrite_SetsVerdictOfEachReading checks that each reading gets its own verdict. A valid
// reading must be stored once, in the table for its event time and arrival month.
func TestWrite_SetsVerdictOfEachReading(t *testing.T) {
	codes := []string{"", "", "", "", "device_invalid", "stream_invalid", "field_invalid", "time_in_future", "time_too_old", "too_large"}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		seen := map[string]bool{}
		tables := map[string]int{}
		var total, tally wire.Tally
		for range rapid.IntRange(1, 3).Draw(t, "requests") {
			var readings []varve.Reading
			var want []string
			for range rapid.IntRange(1, 30).Draw(t, "readings") {
				stream := rapid.SampledFrom([]string{"weather", "brief"}).Draw(t, "stream")
				at := noon.Add(24*time.Hour - time.Duration(rapid.Int64Range(0, 400*24).Draw(t, "hours ago"))*time.Hour)
				r := reading(stream, at, rapid.Int64Range(1, 3).Draw(t, "value"))
				code := rapid.SampledFrom(codes).Draw(t, "fault")
				key := fmt.Sprintf("%s %s %s", stream, at, r.Fields[0].Value)
				switch {
				case code != "":
					faults[code](&r)
					want = append(want, code)
					total.Rejected++
				case seen[key]:
					want = append(want, "duplicate")
					total.Duplicates++
				default:
					seen[key] = true
					want = append(want, "stored")
					tables[w.name(map[string]string{"weather": "varve", "brief": "varve-brief"}[stream], at, noon)]++
					total.Stored++
				}
				readings = append(readings, r)
			}
			verdicts := w.send(t, readings...)
			if got := words(verdicts); got != strings.Join(want, " ") {
				t.Fatalf("%s, want %s", got, strings.Join(want, " "))
			}
			for i, v := range verdicts {
				tally.Count(v)
				if !readings[i].Arrived.Equal(noon) && v.Outcome != varve.Rejected {
					t.Fatalf("reading %d arrived at %s", i, readings[i].Arrived)
				}
			}
		}
		if tally != total {
			t.Fatalf("%+v, want %+v", tally, total)
		}
		w.expect(t, tables)
	})
}

// TestWrite_KeepsEarlierVerdicts checks that a reading with a rejecting verdict is not written, and
// that its verdict does not change.
func TestWrite_KeepsEarlierVerdicts(t *testing.T) {
	w := newWorld()
	q, err := w.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Done()
	readings := []varve.Reading{reading("weather", noon, 1), reading("weather", noon, 2), {}}
	verdicts := []varve.Verdict{varve.Reject(varve.CodeMalformed, "broken"), {}, varve.Reject(varve.CodeTimeMissing, "none")}
	if err := q.Write(context.Background(), readings, verdicts); err != nil || words(verdicts) != "malformed stored time_missing" || verdicts[0].Message != "broken" {
		t.Fatal(words(verdicts), err)
	}
	w.expect(t, map[string]int{w.name("varve", noon, noon): 1})
	if err := q.Write(context.Background(), nil, nil); err != nil {
		t.Error(err)
	}
}

// TestWatch_ReceivesTimeOfWrite checks that Watch receives the time of the write if a request
// arrived long before.
func TestWatch_ReceivesTimeOfWrite(t *testing.T) {
	var told []time.Time
	w := newWorld(func(o *router.Options) {
		o.Watch = func(_ context.Context, now time.Time, readings []varve.Reading, _ []varve.Verdict) error {
			if !readings[0].Arrived.Equal(noon) {
				t.Errorf("arrived at %s", readings[0].Arrived)
			}
			told = append(told, now)
			return nil
		}
	})
	q, err := w.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Done()
	for i := range 2 {
		w.mu.Lock()
		w.now = noon.Add(time.Duration(i) * 10 * time.Minute)
		w.mu.Unlock()
		if err := q.Write(t.Context(), []varve.Reading{reading("weather", noon, int64(i))}, make([]varve.Verdict, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 2 || !told[0].Equal(noon) || !told[1].Equal(noon.Add(10*time.Minute)) {
		t.Errorf("told at %s", told)
	}
}

// TestWrite_ChecksBoundsOfTime checks the first and the last accepted event time, and that a
// rejection shows the limit.
func TestWrite_ChecksBoundsOfTime(t *testing.T) {
	future := 24 * time.Hour
	rows := []struct {
		at         time.Time
		want, says string
	}{
		{noon.Add(future), "stored", ""},
		{noon.Add(future + 1), "time_in_future", "1d ahead of the server's clock, and 1d is allowed: correct the device's clock, or raise tables.future"},
		{noon.Add(100 * 365 * 24 * time.Hour), "time_in_future", "ahead"},
		{time.Unix(0, varve.MaxTime).Add(-1), "time_in_future", ""},
		{time.Unix(0, varve.MaxTime), "time_in_future", ""},
		{time.Unix(0, 0), "stored", ""},
		{time.Unix(0, -1), "time_too_old", "1970"},
		{time.Time{}, "time_too_old", "1970"},
		{time.Date(1971, 1, 1, 0, 0, 0, 1, time.UTC), "stored", ""},
	}
	for _, row := range rows {
		v := newWorld().send(t, reading("weather", row.at, 1))
		if words(v) != row.want || !strings.Contains(v[0].Message, row.says) {
			t.Errorf("%s: %s, want %s", row.at, v[0], row.want)
		}
	}
	none := newWorld(func(o *router.Options) { o.Grid.Future = 0 })
	if got := words(none.send(t, reading("weather", noon, 1), reading("weather", noon.Add(1), 1))); got != "stored time_in_future" {
		t.Errorf("with no future: %s", got)
	}
}

// TestWrite_UsesArrivalMonthOfRequest checks that a request that lasts until the next month
// writes to the tables of the month in which it arrived.
func TestWrite_UsesArrivalMonthOfRequest(t *testing.T) {
	w := newWorld()
	turn := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	w.now = turn.Add(-time.Nanosecond)
	q, err := w.Admit()
	if err != nil {
		t.Fatal(err)
	}
	var last varve.Reading
	for i, now := range []time.Time{w.now, turn, turn.Add(time.Hour)} {
		w.now = now
		readings, verdicts := []varve.Reading{reading("weather", turn, int64(i))}, make([]varve.Verdict, 1)
		if err := q.Write(context.Background(), readings, verdicts); err != nil || words(verdicts) != "stored" {
			t.Fatal(words(verdicts), err)
		}
		last = readings[0]
	}
	if want := turn.Add(-time.Millisecond); !last.Arrived.Equal(want) || !q.Arrived().Equal(want) {
		t.Errorf("arrived at %s, want %s", last.Arrived, want)
	}
	q.Done()
	before, after := w.name("varve", turn, turn.Add(-1)), w.name("varve", turn, turn)
	w.expect(t, map[string]int{before: 3})
	// A retry in the next month stores a copy in another table. Queries return only one of the two.
	if got := words(w.send(t, reading("weather", turn, 0), reading("weather", turn, 9))); got != "stored stored" {
		t.Error(got)
	}
	w.expect(t, map[string]int{before: 3, after: 2})
}
