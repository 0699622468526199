package aggregate_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"pgregory.net/rapid"
)

var (
	propertyZones = []string{"UTC", "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca"}
	// propertyTimes has times close to a change of the clocks, and the time at which each world
	// begins.
	propertyTimes = []time.Time{
		time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC),
		time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), time.Date(2026, 2, 15, 2, 0, 0, 0, time.UTC), start,
	}
	propertyDevices = []string{"a", "b/c", "d"}
	propertyFields  = []string{"device", "humidity", "temperature"}
)

// drawNumber draws a number with few or many digits, of any sign and scale.
func drawNumber(t *rapid.T) string {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(-500, 500), func(n int) string { return fmt.Sprintf("%.1f", float64(n)/10) }),
		rapid.StringMatching(`-?[1-9][0-9]{0,18}\.[0-9]{0,17}[1-9]`),
		rapid.StringMatching(`-?[1-9]\.[0-9]{0,36}[1-9]e-?[1-9][0-9]`),
		rapid.StringMatching(`[1-9][0-9]{37}`),
		rapid.SampledFrom([]string{"0", "0.00", "-0", "1", "1.0", "1e125", "-1e-130", "21.40"}),
	).Draw(t, "number")
}

// drawReadings sends random readings to the world: late ones, several at one time, with or
// without ids, copies that arrive in a later month, and values that are not numbers.
func drawReadings(t *rapid.T, w *world) {
	center := rapid.SampledFrom(propertyTimes).Draw(t, "center")
	for range rapid.IntRange(1, 4).Draw(t, "batches") {
		var batch []varve.Reading
		for range rapid.IntRange(0, 12).Draw(t, "readings") {
			if len(w.model) > 0 && rapid.IntRange(0, 5).Draw(t, "copy") == 0 {
				batch = append(batch, rapid.SampledFrom(w.model).Draw(t, "copied"))
				continue
			}
			unit := rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Second, time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "unit")
			at := center.Add(time.Duration(rapid.IntRange(-30, 1).Draw(t, "offset")) * unit)
			id := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "id")
			fields := []string{}
			for _, name := range propertyFields {
				switch rapid.IntRange(0, 5).Draw(t, name) {
				case 0:
				case 1:
					fields = append(fields, name, rapid.SampledFrom([]string{"text", "true"}).Draw(t, "other"))
				default:
					fields = append(fields, name, drawNumber(t))
				}
			}
			if len(fields) == 0 {
				fields = []string{"note", "none"}
			}
			batch = append(batch, reading(t, rapid.SampledFrom(propertyDevices).Draw(t, "device"), at, id, fields...))
		}
		w.send(batch...)
		if rapid.Bool().Draw(t, "later") {
			w.clock = w.clock.Add(20 * 24 * time.Hour)
		}
	}
}

func drawFunctions(t *rapid.T, from []string) []string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(from), 1, 6, rapid.ID[string]).Draw(t, "functions")
	for i, name := range names {
		if name == "p" {
			names[i] = percentName(rapid.IntRange(0, 1000).Draw(t, "percent"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names) // the drawn percentile may also be one of the other names
}

var allFunctions = []string{"count", "numbers", "sum", "mean", "min", "max", "first", "last", "stddev", "p50", "p99", "p0", "p100", "p"}

// TestRun_EqualsBruteForce compares answers with the answers of the oracle.
func TestRun_EqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		defer w.close()
		drawReadings(t, w)
		name := rapid.SampledFrom(propertyZones).Draw(t, "zone")
		s := rapid.SampledFrom(oracleSteps).Draw(t, "step")
		names := drawFunctions(t, allFunctions)
		q := aggregate.Query{
			Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.AllTime(), Step: parseStep(t, s.text, name), Functions: functions(t, names...),
			Devices: rapid.SliceOfNDistinct(rapid.SampledFrom(propertyDevices), 1, 3, rapid.ID[string]).Draw(t, "devices"),
			Merge:   rapid.Bool().Draw(t, "merge"),
			Fields:  rapid.SliceOfNDistinct(rapid.SampledFrom(propertyFields), 0, 2, rapid.ID[string]).Draw(t, "fields"),
		}
		if len(w.model) > 0 && rapid.Bool().Draw(t, "window") {
			from := rapid.SampledFrom(w.model).Draw(t, "from").Time
			q.Window = varve.Window{From: from, To: from.Add(time.Duration(rapid.Int64Range(0, 90*86400).Draw(t, "length")) * time.Second)}
		}
		compareRows(t, w, &q, &s, names, zone(t, name), w.run(q).Rows)
	})
}

// compareRows compares the rows of an answer without fill with the oracle.
func compareRows(t *rapid.T, w *world, q *aggregate.Query, s *oracleStep, names []string, z *time.Location, rows []aggregate.Row) {
	readings, cells := oracleBuckets(w.model, q, s, z)
	if len(rows) != len(readings) {
		t.Fatalf("%d rows, want %d", len(rows), len(readings))
	}
	var before oracleKey
	for i, row := range rows {
		k := oracleKey{row.Device, row.Start}
		if i > 0 && (before.device > k.device || before.device == k.device && before.start >= k.start) {
			t.Fatalf("row %v follows %v", k, before)
		}
		before = k
		if row.Readings != int64(readings[k]) || len(row.Fields) != len(cells[k]) {
			t.Fatalf("%v: %d readings, %d fields, want %d, %d", k, row.Readings, len(row.Fields), readings[k], len(cells[k]))
		}
		for _, f := range row.Fields {
			c := cells[k][f.Name]
			if c == nil || f.Ignored != int64(c.all-len(c.numbers)) {
				t.Fatalf("%v: %s ignores %d of %v", k, f.Name, f.Ignored, c)
			}
			for j, name := range names {
				if got := f.Values[j].String(); !agree(name, got, c.result(name)) {
					t.Fatalf("%v: %s of %s is %s, want %v; of %v", k, name, f.Name, got, c.result(name), c.texts)
				}
				if name == "stddev" && digits(f.Values[j].String()) > 20 {
					t.Fatalf("%v: stddev of %s is %s: more than 20 digits", k, f.Name, f.Values[j])
				}
				if text := f.Values[j].String(); (name == "first" && len(c.texts) > 0 && text != c.texts[0]) || (name == "last" && len(c.texts) > 0 && text != c.texts[len(c.texts)-1]) {
					t.Fatalf("%v: %s of %s is %s, want the notation of %v", k, name, f.Name, text, c.texts)
				}
			}
		}
	}
}

// TestTop_EqualsRanking sorts the devices by their values in one bucket over all time. The ranking must have
// the first of them, in the same order.
func TestTop_EqualsRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		defer w.close()
		drawReadings(t, w)
		by := drawFunctions(t, allFunctions)[0]
		q := aggregate.Query{
			Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.AllTime(), Step: parseStep(t, "100y", "UTC"),
			Devices: propertyDevices, Functions: functions(t, by), Fields: []string{"temperature"},
		}
		type ranked struct {
			device string
			value  *big.Rat
		}
		var want []ranked
		for _, r := range w.run(q).Rows {
			if text := valueOf(&r, "temperature", 0); text != "" && text != "null" {
				want = append(want, ranked{r.Device, rat(text)})
			}
		}
		slices.SortStableFunc(want, func(a, b ranked) int { return b.value.Cmp(a.value) })
		n := rapid.IntRange(1, 3).Draw(t, "top")
		q.Step, q.Functions = parseStep(t, "1h", "UTC"), functions(t, "count", "sum")
		all := w.run(q).Rows
		var expected []aggregate.Row
		for _, d := range want[:min(n, len(want))] {
			for _, r := range all {
				if r.Device == d.device {
					expected = append(expected, r)
				}
			}
		}
		q.Top = aggregate.Top{Devices: n, Function: functions(t, by)[0], Field: "temperature"}
		got, wanted := lines(&q, w.run(q)), lines(&q, &aggregate.Answer{Rows: expected})
		if !slices.Equal(got, wanted) {
			t.Fatalf("top %d by %s of %v:\n got %q\nwant %q", n, by, want, got, wanted)
		}
	})
}

// TestFill_EqualsBruteForce computes missing values from the answer to a query without fill. The filled
// answer must have the same values.
func TestFill_EqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		defer w.close()
		drawReadings(t, w)
		name := rapid.SampledFrom(propertyZones).Draw(t, "zone")
		s := rapid.SampledFrom([]oracleStep{{text: "1h", seconds: 3600}, {text: "12h", seconds: 43200}, {text: "1d", group: each(1)}}).Draw(t, "step")
		q := aggregate.Query{
			Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.AllTime(), Step: parseStep(t, s.text, name), Devices: []string{"a"},
			Functions: functions(t, "count", "mean", "last"), Fields: []string{"temperature", "humidity"},
		}
		if len(w.model) > 0 && rapid.Bool().Draw(t, "window") {
			from := rapid.SampledFrom(w.model).Draw(t, "from").Time.Add(-100 * time.Hour)
			q.Window = varve.Window{From: from, To: from.Add(time.Duration(rapid.Int64Range(1, 400*3600).Draw(t, "length")) * time.Second)}
		}
		given := w.run(q).Rows
		for fill := aggregate.FillNull; fill <= aggregate.FillLinear; fill++ {
			q.Fill = fill
			compareFilled(t, &q, &s, zone(t, name), given, w.run(q).Rows)
		}
	})
}

func compareFilled(t *rapid.T, q *aggregate.Query, s *oracleStep, z *time.Location, given, rows []aggregate.Row) {
	if len(given) == 0 {
		if len(rows) != 0 {
			t.Fatalf("%d rows without readings", len(rows))
		}
		return
	}
	first, last := given[0].Start, given[len(given)-1].Start
	if q.Window.From.Unix() > 0 {
		first, last = s.startAt(q.Window.From.Unix(), z), s.startAt(q.Window.To.Add(-1).Unix(), z)
	}
	if rows[0].Start != first || rows[len(rows)-1].Start != last {
		t.Fatalf("rows from %d to %d, want %d to %d", rows[0].Start, rows[len(rows)-1].Start, first, last)
	}
	for i := 1; i < len(rows); i++ {
		if rows[i].Start != q.Step.BucketAt(rows[i-1].Start).End {
			t.Fatalf("row %d begins at %d after %d", i, rows[i].Start, rows[i-1].Start)
		}
	}
	for _, field := range q.Fields {
		for function, name := range []string{"count", "mean", "last"} {
			compareFunction(t, q, given, rows, field, function, name)
		}
	}
}

// valueOf returns the value of a field in a row, or "" if the row does not have the field.
func valueOf(r *aggregate.Row, field string, function int) string {
	for _, f := range r.Fields {
		if f.Name == field {
			return f.Values[function].String()
		}
	}
	return ""
}

func compareFunction(t *rapid.T, q *aggregate.Query, given, rows []aggregate.Row, field string, function int, name string) {
	known := map[int64]string{}
	var starts []int64
	occurs := false
	for i := range given {
		text := valueOf(&given[i], field, function)
		occurs = occurs || text != ""
		if text != "" && text != "null" {
			known[given[i].Start] = text
			starts = append(starts, given[i].Start)
		}
	}
	for i := range rows {
		got, at := valueOf(&rows[i], field, function), rows[i].Start
		after, found := slices.BinarySearch(starts, at)
		want := "null"
		switch {
		case !occurs:
			want = ""
		case found:
			want = known[at]
		case name == "count":
			want = "0"
		case q.Fill == aggregate.FillPrevious && after > 0:
			want = known[starts[after-1]]
		case q.Fill == aggregate.FillLinear && after > 0 && after < len(starts):
			a, b := starts[after-1], starts[after]
			way := rat(known[b])
			way.Sub(way, rat(known[a]))
			way.Mul(way, rat(fmt.Sprintf("%d/%d", at-a, b-a))).Add(way, rat(known[a]))
			if !agree("linear", got, way) {
				t.Fatalf("%s of %s at %d is %s, want %s", name, field, at, got, way)
			}
			continue
		}
		if got != want {
			t.Fatalf("fill %d: %s of %s at %d is %q, want %q", q.Fill, name, field, at, got, want)
		}
	}
}
