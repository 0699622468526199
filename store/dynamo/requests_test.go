package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

func sensor(at time.Time, field string, v varve.Value) varve.Reading {
	r := varve.Reading{
		Series: varve.Series{Tenant: "acme", Stream: "weather", Device: "sensor_01"}, Time: at, Arrived: someTime,
		Fields: []varve.Field{{Name: field, Value: v}},
	}
	if verdict := r.Normalize(); verdict.Outcome == varve.Rejected {
		panic(verdict.String())
	}
	return r
}

// send writes readings in one batch. It returns the first letter of each outcome.
func send(t *testing.T, s *dynamo.Store, tb grid.Table, readings ...varve.Reading) string {
	t.Helper()
	res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: readings}})
	if res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	var letters strings.Builder
	for _, v := range res[0].Verdicts {
		letters.WriteByte(v.Outcome.String()[0])
	}
	return letters.String()
}

func stored(t *testing.T, s *dynamo.Store, tb grid.Table) (all []varve.Reading) {
	t.Helper()
	r := store.Range{Table: tb, Series: sensor(someTime, "v", varve.IntValue(0)).Series, Window: varve.AllTime(), Consistent: true}
	for {
		page, err := s.Read(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Readings...)
		if !page.More {
			return all
		}
		last := all[len(all)-1].Position()
		r.After = &last
	}
}

// many returns n readings with the same event time.
func many(at time.Time, n int) (list []varve.Reading) {
	for i := range n {
		list = append(list, sensor(at, "v", varve.IntValue(int64(100+i))))
	}
	return list
}

// TestWrite_LimitsRequestsAndUnits writes new and repeated readings in small batches. No batch may use more
// requests and units than its test case allows.
func TestWrite_LimitsRequestsAndUnits(t *testing.T) {
	t.Parallel()
	s := open(t, dynamotest.Dynoxide.Start(t), time.Now)
	tb := tableOf("t", someTime)
	if err := s.Create(t.Context(), tb, store.Hot); err != nil {
		t.Fatal(err)
	}
	at := func(ms int) time.Time { return someTime.Add(time.Duration(ms) * time.Millisecond) }
	value := func(ms int, field string, v int64) varve.Reading { return sensor(at(ms), field, varve.IntValue(v)) }
	for _, c := range []struct {
		what     string
		readings []varve.Reading
		verdicts string
		requests int64 // the largest allowed number of requests
		units    float64
	}{
		{"a new row", []varve.Reading{value(0, "v", 1)}, "s", 1, 1},
		{"the same again", []varve.Reading{value(0, "v", 1)}, "d", 1, 1},
		{"a second one at its time", []varve.Reading{value(0, "v", 2)}, "s", 2, 2},
		{"a third one, with another field", []varve.Reading{value(0, "w", 2)}, "s", 2, 2},
		{"an old one and a new one at its time", []varve.Reading{value(0, "v", 2), value(0, "v", 3)}, "ds", 2, 2},
		{"three at once at a new time", []varve.Reading{value(1, "v", 1), value(1, "v", 2), value(1, "w", 1)}, "sss", 1, 1},
		{"all three again", []varve.Reading{value(1, "v", 1), value(1, "v", 2), value(1, "w", 1)}, "ddd", 1, 1},
		{"two new rows", []varve.Reading{value(2, "v", 1), value(3, "v", 1)}, "ss", 2, 2},
		{"fifty at once at the time of old ones", many(at(1), 50), strings.Repeat("s", 50), 2, 5},
		{"one new reading twice", []varve.Reading{value(4, "v", 1), value(4, "v", 1)}, "sd", 1, 1},
	} {
		before := s.Usage()
		verdicts := send(t, s, tb, c.readings...)
		after := s.Usage()
		requests, units := after.Writes.Requests-before.Writes.Requests, after.Writes.Units-before.Writes.Units
		if verdicts != c.verdicts || requests == 0 || requests > c.requests || units > c.units {
			t.Errorf("%s: %s, %d requests, %v units; want %s, at most %d and %v", c.what, verdicts, requests, units, c.verdicts, c.requests, c.units)
		}
	}
	if n := len(stored(t, s, tb)); n != 60 {
		t.Errorf("%d readings are stored, want 60", n)
	}
}

// TestWrite_LimitsUnitsAtOneInstant writes many large readings whose event times are in the same
// millisecond. On average, a reading may take at most two requests and three units. These include writes
// whose conditions fail.
func TestWrite_LimitsUnitsAtOneInstant(t *testing.T) {
	t.Parallel()
	n, batch := 10_000, 500
	if testing.Short() {
		n = 1000
	}
	s := open(t, dynamotest.Dynoxide.Start(t), time.Now)
	tb := tableOf("t", someTime)
	if err := s.Create(t.Context(), tb, store.Hot); err != nil {
		t.Fatal(err)
	}
	kb := strings.Repeat("x", 995)
	readings := make([]varve.Reading, n)
	for i := range readings {
		readings[i] = sensor(someTime, "v", varve.StringValue(fmt.Sprintf("%05d%s", i, kb)))
	}
	for at := 0; at < n; at += batch {
		// If an answer is lost, the SDK resends the request. Then a reading is a duplicate of
		// itself.
		if got := send(t, s, tb, readings[at:at+batch]...); strings.Trim(got, "sd") != "" {
			t.Fatalf("batch from %d: verdicts %s, want s or d", at, got)
		}
	}
	u := s.Usage()
	t.Logf("%d readings: %d requests, %.0f units", n, u.Writes.Requests, u.Writes.Units)
	if u.Writes.Units > 3*float64(n) || u.Writes.Requests > int64(2*n) {
		t.Errorf("%d readings took %d requests and %.0f units", n, u.Writes.Requests, u.Writes.Units)
	}
	if got := send(t, s, tb, readings[:batch]...); got != strings.Repeat("d", batch) {
		t.Errorf("resent: %s, want duplicates", got)
	}
	again := s.Usage()
	t.Logf("%d resent: %d requests, %.0f units", batch, again.Writes.Requests-u.Writes.Requests, again.Writes.Units-u.Writes.Units)
	ids := map[varve.ID]bool{}
	for _, r := range stored(t, s, tb) {
		ids[r.ID] = true
	}
	for i := range readings {
		if !ids[readings[i].ID] {
			t.Fatalf("reading %d is missing", i)
		}
	}
	if len(ids) != n {
		t.Errorf("%d readings, want %d", len(ids), n)
	}
}
