package aggregate_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
)

func queryOf(t TB, step string, names ...string) aggregate.Query {
	return aggregate.Query{
		Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.AllTime(), Step: parseStep(t, step, "UTC"),
		Devices: []string{"a"}, Functions: functions(t, names...),
	}
}

func TestRun_Examples(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	w.send(
		reading(t, "a", start, "1", "t", "21.40", "door", "open"), reading(t, "a", start, "2", "t", "22.9"), reading(t, "a", start.Add(4*time.Minute), "", "t", "1e3"),
		reading(t, "a", start.Add(10*time.Minute), "", "t", "broken"), reading(t, "a", start.Add(15*time.Minute), "", "t", "5"),
		reading(t, "b", start, "", "t", "7"),
	)
	q := queryOf(t, "5m", "count", "mean", "first", "last", "stddev", "p50", "p99.9")
	q.Fields = []string{"t"}
	wantLines(t, &q, w.run(q),
		"a 11-20T12:00 3 t: count=3 mean=348.1 first=21.40 last=1000 stddev=460.96331741256809035 p50=22.9 p99.9=998.0458",
		"a 11-20T12:10 1 t: count=1 mean=null first=null last=null stddev=null p50=null p99.9=null ignored=1",
		"a 11-20T12:15 1 t: count=1 mean=5 first=5 last=5 stddev=0 p50=5 p99.9=5")
	q.Functions, q.Fill = functions(t, "count", "mean"), aggregate.FillLinear
	wantLines(t, &q, w.run(q),
		"a 11-20T12:00 3 t: count=3 mean=348.1", "a 11-20T12:05 0 t: count=0 mean=233.73333333333333333",
		"a 11-20T12:10 1 t: count=1 mean=119.36666666666666667 ignored=1", "a 11-20T12:15 1 t: count=1 mean=5")
	q = queryOf(t, "1d", "numbers", "max")
	q.Devices, q.Merge = []string{"b", "a", "b", "none"}, true
	wantLines(t, &q, w.run(q), " 11-20T00:00 6 door: numbers=0 max=null ignored=1 t: numbers=5 max=1000 ignored=1")
}

// TestRun_MergesEnds merges two devices. The first value is from one device, and the last value from the
// other. The answer must have both.
func TestRun_MergesEnds(t *testing.T) {
	w := newWorld(t)
	w.close()
	defer w.close()
	w.open(columnStore{mem.New(w.now)})
	for i, device := range []string{"b", "a", "a", "b", "b", "a"} {
		w.send(reading(t, device, start.Add(time.Duration(i)*time.Second), "", "t", strconv.Itoa(i)))
	}
	q := queryOf(t, "1h", "first", "last")
	q.Devices, q.Merge = []string{"a", "b"}, true
	wantLines(t, &q, w.run(q), " 11-20T12:00 6 t: first=0 last=5")
}

func TestRun_RanksDevices(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	q := queryOf(t, "1h", "max")
	q.Devices = nil
	for i, temperature := range []string{"5", "7.5", "text", "7.50", "-1", "6"} {
		device := string(rune('a' + i))
		q.Devices = append(q.Devices, device)
		w.send(reading(t, device, start, "", "t", temperature), reading(t, device, start.Add(-time.Hour), "", "t", "-2", "u", "100"))
	}
	q.Fields = []string{"t"}
	q.Top = aggregate.Top{Devices: 3, Function: functions(t, "max")[0], Field: "t"}
	wantLines(t, &q, w.run(q),
		"b 11-20T11:00 1 t: max=-2", "b 11-20T12:00 1 t: max=7.5", "d 11-20T11:00 1 t: max=-2", "d 11-20T12:00 1 t: max=7.5",
		"f 11-20T11:00 1 t: max=-2", "f 11-20T12:00 1 t: max=6")
	q.Top.Function, q.Top.Devices = functions(t, "p100")[0], 1
	wantLines(t, &q, w.run(q), "b 11-20T11:00 1 t: max=-2", "b 11-20T12:00 1 t: max=7.5")
	q.Top.Field, q.Fields = "none", nil
	wantLines(t, &q, w.run(q))
}

func TestRun_RefusesLargeAnswers(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	w.send(reading(t, "a", start, "", "t", "1"), reading(t, "a", start.Add(-240*time.Hour), "", "t", "1"))
	for name, c := range map[string]struct {
		change func(q *aggregate.Query)
		want   string
	}{
		"filled":    {func(q *aggregate.Query) { q.Fill = aggregate.FillNull }, "step: more than 200000 buckets"},
		"devices":   {func(q *aggregate.Query) { q.Devices = make([]string, aggregate.MaxDevices+1) }, "devices: 10001 exceed the limit 10000"},
		"no step":   {func(q *aggregate.Query) { q.Step = aggregate.Step{} }, "step: missing"},
		"merge top": {func(q *aggregate.Query) { q.Merge, q.Top.Devices = true, 1 }, "top: ranks devices"},
		"top field": {func(q *aggregate.Query) { q.Top.Devices = 1 }, "top_field: missing"},
		"window":    {func(q *aggregate.Query) { q.Window.To = q.Window.From.Add(-1) }, "to: the window ends"},
	} {
		q := queryOf(t, "1s", "mean")
		c.change(&q)
		if _, err := w.subject.Run(t.Context(), q); varve.FailureOf(err) != varve.Invalid || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestParseFunction_RefusesOthers(t *testing.T) {
	for _, name := range []string{"", "avg", "p", "p101", "p-1", "p100.1", "p1e1", "p5.", "p.", "p99.99999", "P50", "pp"} {
		if f, err := aggregate.ParseFunction(name); err == nil && name != "p5." {
			t.Errorf("%q is %v", name, f)
		}
	}
	names := make([]string, 21)
	for i := range names {
		names[i] = fmt.Sprint("p", i)
	}
	if _, err := aggregate.ParseFunctions(names); err == nil {
		t.Error("21 functions are accepted")
	}
	if list := functions(t); fmt.Sprint(list) != "[mean min max]" {
		t.Errorf("by default: %v", list)
	}
}

// BenchmarkRun_Day computes functions of one day in buckets of five minutes or an hour, from the
// readings or the roll-ups in the embedded store. The day has one reading per minute, each with
// three fields.
func BenchmarkRun_Day(b *testing.B) {
	s, err := local.Open(local.Options{Dir: b.TempDir(), MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	w := &world{t: b, clock: start, known: map[string]bool{}}
	w.open(s)
	defer w.close()
	day := start.Truncate(24 * time.Hour).Add(-24 * time.Hour)
	for i := range 24 {
		var batch []varve.Reading
		for j := range 60 {
			at := day.Add(time.Duration(60*i+j) * time.Minute)
			batch = append(batch, reading(b, "a", at, "", "battery", "77", "humidity", fmt.Sprintf("4%d.%d", j%10, i%10), "temperature", fmt.Sprintf("2%d.%d", i%10, j%10)))
		}
		w.send(batch...)
	}
	w.clock = w.clock.Add(3 * time.Hour)
	if _, err := w.engine.Aggregator.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		step, names string
		source      aggregate.Source
		rows        int
	}{
		{"5m", "mean", aggregate.FromReadings, 288}, {"5m", "mean,min,max", aggregate.FromReadings, 288}, {"5m", "stddev", aggregate.FromReadings, 288},
		{"5m", "p50,p99", aggregate.FromReadings, 288}, {"1h", "mean", aggregate.FromReadings, 24}, {"1h", "mean", aggregate.FromRollups, 24},
	} {
		b.Run(fmt.Sprint(c.step, " ", c.names, " from ", c.source), func(b *testing.B) {
			q := queryOf(b, c.step, strings.Split(c.names, ",")...)
			q.Window, q.Fields, q.Source = varve.Window{From: day, To: day.Add(24 * time.Hour)}, []string{"temperature"}, c.source
			for b.Loop() {
				a, err := w.subject.Run(context.Background(), q)
				if err != nil || len(a.Rows) != c.rows {
					b.Fatal(len(a.Rows), err)
				}
			}
		})
	}
}
