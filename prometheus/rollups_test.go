package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/prometheus"
)

// reading returns a reading of a device in the stream weather. The argument "fields" alternates between
// names and values. A value that is not a number is a string.
func reading(t testing.TB, device string, at time.Time, fields ...string) varve.Reading {
	t.Helper()
	r := varve.Reading{Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}, Time: at}
	for i := 0; i < len(fields); i += 2 {
		n, err := decimal.Parse(fields[i+1])
		v := varve.NumberValue(n)
		if err != nil {
			v = varve.StringValue(fields[i+1])
		}
		r.Fields = append(r.Fields, varve.Field{Name: fields[i], Value: v})
	}
	return r
}

// ask evaluates a query and formats its result: a line per series with its device and values. If the
// query fails, the only line is the error.
func (w *world) ask(q prometheus.Query) (lines []string, fromRollups int) {
	w.t.Helper()
	q.Tenant = varve.DefaultTenant
	r, err := w.promql.Evaluate(context.Background(), q)
	if err != nil {
		return []string{err.Error()}, 0
	}
	defer r.Close()
	add := func(l labels.Labels, points []promql.FPoint) {
		line := l.Get("device")
		for _, p := range points {
			line += fmt.Sprintf(" %s=%v", time.UnixMilli(p.T).UTC().Format("02T15:04:05"), p.F)
		}
		lines = append(lines, line)
	}
	switch v := r.Value.(type) {
	case promql.Matrix:
		for _, s := range v {
			add(s.Metric, s.Floats)
		}
	case promql.Vector:
		for _, s := range v {
			add(s.Metric, []promql.FPoint{{T: s.T, F: s.F}})
		}
	}
	slices.Sort(lines)
	return lines, r.FromRollups
}

func at(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)
}

// TestRollups_AnswerExactly checks windows and digits of aggregates from roll-ups. For a range R at a
// time t, a window of roll-ups is [t-R, t), and a window of readings is (t-R, t].
func TestRollups_AnswerExactly(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	w.send(
		reading(t, "a", at(20, 8, 0), "v", "0.1"), reading(t, "a", at(20, 8, 20), "v", "0.2"), reading(t, "a", at(20, 8, 40), "v", "0.6", "u", "7"),
		reading(t, "a", at(20, 9, 0), "v", "100"), reading(t, "a", at(20, 10, 30), "v", "-3"),
		reading(t, "b", at(20, 8, 1), "v", "12345678901234567890.5"), reading(t, "b", at(20, 8, 2), "v", "text"),
	)
	hourly := func(text string) prometheus.Query {
		return prometheus.Query{Text: text, Start: at(20, 9, 0), End: at(20, 11, 0), Step: time.Hour}
	}
	for _, c := range []struct {
		q           prometheus.Query
		fromRollups int
		want        string
	}{
		{hourly(`sum_over_time(v{device="a"}[1h])`), 1, "a 20T09:00:00=0.9 20T10:00:00=100 20T11:00:00=-3"},
		{hourly(`avg_over_time(v{device="a"}[1h])`), 1, "a 20T09:00:00=0.3 20T10:00:00=100 20T11:00:00=-3"},
		{hourly(`min_over_time(v{device="a"}[2h])`), 1, "a 20T09:00:00=0.1 20T10:00:00=0.1 20T11:00:00=-3"},
		{hourly(`max_over_time(v{device="a"}[2h])`), 1, "a 20T09:00:00=0.6 20T10:00:00=100 20T11:00:00=100"},
		{hourly(`count_over_time({stream="weather",__name__=~"v"}[2h])`), 1, "a 20T09:00:00=3 20T10:00:00=4 20T11:00:00=2; b 20T09:00:00=1 20T10:00:00=1"},
		{hourly(`count_over_time(v{device="a"}[1h] offset 1h)`), 1, "a 20T10:00:00=3 20T11:00:00=1"},
		{hourly(`count_over_time(v{device="a"}[1h]) - sum_over_time(u{device="a"}[1h])`), 2, "a 20T09:00:00=-4"},
		{prometheus.Query{Text: `sum_over_time(v{device="b"}[24h])`, Start: at(21, 0, 0)}, 1, "b 21T00:00:00=1.2345678901234567e+19"},
		{hourly(`last_over_time(v{device="a"}[1h])`), 1, "a 20T09:00:00=0.6 20T10:00:00=100 20T11:00:00=-3"},
		{hourly(`last_over_time(v{device="a"}[2h]) * 1`), 1, "a 20T09:00:00=0.6 20T10:00:00=100 20T11:00:00=-3"},
		{hourly(`present_over_time(v{stream="weather"}[1h])`), 1, "a 20T09:00:00=1 20T10:00:00=1 20T11:00:00=1; b 20T09:00:00=1"},
		{hourly(`present_over_time(v{device="b"}[2h]) * 7`), 1, "b 20T09:00:00=7 20T10:00:00=7"},
		{hourly(`absent_over_time(v{device="b"}[1h])`), 1, "b 20T10:00:00=1 20T11:00:00=1"},
		{hourly(`absent_over_time(v{device="b"}[2h]) * 3`), 1, "b 20T11:00:00=3"},
		{hourly(`absent_over_time(v{stream="weather"}[1h])`), 1, ""},
		// Roll-ups cannot answer these queries, so readings do.
		{hourly(`stddev_over_time(u{device="a"}[1h])`), 0, "a 20T09:00:00=0"},
		{hourly(`quantile_over_time(0.5, u{device="a"}[1h])`), 0, "a 20T09:00:00=7"},
		{hourly(`changes(u{device="a"}[1h])`), 0, "a 20T09:00:00=0"},
		{hourly(`count_over_time(v{device="a"}[61m])`), 0, "a 20T09:00:00=4 20T10:00:00=1 20T11:00:00=1"},
		{hourly(`count_over_time(v{device="a"}[1h] offset 1m)`), 0, "a 20T09:00:00=3 20T10:00:00=1 20T11:00:00=1"},
		{hourly(`count_over_time(v{device="a"}[1h] @ end())`), 0, "a 20T09:00:00=1 20T10:00:00=1 20T11:00:00=1"},
		{hourly(`max_over_time(count_over_time(v{device="a"}[1h])[1h:1h])`), 0, "a 20T09:00:00=3 20T11:00:00=1"},
		{prometheus.Query{Text: `count_over_time(v{device="a"}[1h])`, Start: at(20, 9, 0).Add(time.Second)}, 0, "a 20T09:00:01=3"},
		{prometheus.Query{Text: `count_over_time(v{device="a"}[1h])`, Start: at(20, 9, 0), End: at(20, 10, 0), Step: 30 * time.Minute}, 0, "a 20T09:00:00=3 20T09:30:00=2"},
	} {
		lines, fromRollups := w.ask(c.q)
		if got := strings.Join(lines, "; "); got != c.want || fromRollups != c.fromRollups {
			t.Errorf("%s: %s, %d from roll-ups; want %s, %d", c.q.Text, got, fromRollups, c.want, c.fromRollups)
		}
	}
}

// TestRollups_OutliveReadings queries series whose readings have expired. Roll-ups must still answer. More
// devices than the limit of series are registered, and only one of them has roll-ups in stream weather.
func TestRollups_OutliveReadings(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSeries: 3})
	for i := range 90 {
		w.send(reading(t, "a", at(17, 23, 0).Add(time.Duration(i)*time.Minute), "v", fmt.Sprint(i)))
	}
	for i := range 5 {
		w.send(varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "other", Device: fmt.Sprint("x", i)}, Time: at(18, 0, 0),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
		})
	}
	w.clock = w.clock.Add(3 * time.Hour)
	if _, err := w.engine.Aggregator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(400 * 24 * time.Hour)
	if lines, n := w.ask(prometheus.Query{Text: `count_over_time(v{stream="weather"}[61m])`, Start: at(18, 0, 30)}); len(lines) != 0 || n != 0 {
		t.Fatalf("the readings have not expired: %v", lines)
	}
	for text, want := range map[string]string{
		`avg_over_time(v{stream="weather"}[1h])`:                      "a 18T00:00:00=29.5; a 18T01:00:00=74.5",
		`sum(count_over_time(v{stream=~"weather|none"}[2h]))`:         " 18T00:00:00=60;  18T01:00:00=90",
		`last_over_time(v{device="a"}[1h])`:                           "a 18T00:00:00=59; a 18T01:00:00=89",
		`present_over_time(v{device="a"}[1h])`:                        "a 18T00:00:00=1; a 18T01:00:00=1",
		`avg_over_time({stream=~"weather|other"}[24h])`:               "the selector matches 6 series, and the limit is 3: select fewer devices or fields, or raise query.max_series",
		`sum(count_over_time({stream=~"weather|other"}[1h]))`:         "the selector matches 6 series, and the limit is 3: select fewer devices or fields, or raise query.max_series",
		`max_over_time(v{stream="weather",device="a"}[100d])`:         "a 18T00:00:00=59; a 18T01:00:00=89",
		`min_over_time(v{device="a"}[1h]) > on() (vector(30))`:        " 18T01:00:00=60",
		`label_replace(sum_over_time(v{device="a"}[1h]),"","","","")`: `invalid destination label name in label_replace(): `,
	} {
		var lines []string
		for _, start := range []time.Time{at(18, 0, 0), at(18, 1, 0)} {
			more, _ := w.ask(prometheus.Query{Text: text, Start: start})
			lines = append(lines, more...)
		}
		if got := strings.Join(slices.Compact(lines), "; "); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if strings.Contains(fmt.Sprint(lines), "__rollup__") {
			t.Errorf("%s: %v", text, lines)
		}
	}
}

// TestRollups_CoverDays compares sums over two days from roll-ups with sums from readings. Daily roll-ups
// answer if the windows begin at midnight, and hourly ones otherwise.
func TestRollups_CoverDays(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	w.clock = at(25, 12, 0)
	for i := range 5 * 24 * 4 {
		w.send(reading(t, "a", at(20, 0, 0).Add(time.Duration(i)*15*time.Minute), "v", fmt.Sprintf("%d.%d", i%7, i%10)))
	}
	for _, c := range []struct {
		start, end time.Time
		step       time.Duration
	}{{at(21, 0, 0), at(25, 0, 0), 24 * time.Hour}, {at(21, 7, 0), at(25, 7, 0), 24 * time.Hour}, {at(21, 0, 0), at(25, 0, 0), 8 * time.Hour}} {
		got, n := w.ask(prometheus.Query{Text: `sum_over_time(v{device="a"}[2d])`, Start: c.start, End: c.end, Step: c.step})
		// Readings answer a range with an offset that is not a whole hour.
		want, _ := w.ask(prometheus.Query{Text: `sum_over_time(v{device="a"}[172800s] offset 1s)`, Start: c.start, End: c.end, Step: c.step})
		if n != 1 || len(got) != 1 || len(want) != 1 || rounded(got[0]) != rounded(want[0]) {
			t.Errorf("%+v: got %v, want %v", c, got, want)
		}
	}
}

// rounded returns the values of a line with eight decimals.
func rounded(line string) (text string) {
	for word := range strings.FieldsSeq(line) {
		_, value, _ := strings.Cut(word, "=")
		var f float64
		if _, err := fmt.Sscan(value, &f); err == nil {
			text += fmt.Sprintf(" %.8f", f)
		}
	}
	return text
}

// TestEvaluate_Limits checks that a query whose context ended fails with Canceled.
func TestEvaluate_Limits(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	w.send(reading(t, "a", at(20, 8, 0), "v", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.promql.Evaluate(ctx, prometheus.Query{Tenant: varve.DefaultTenant, Text: `v{device="a"}`, Start: noon})
	var own *prometheus.Error
	if !errors.As(err, &own) || own.Kind != prometheus.Canceled {
		t.Errorf("%v", err)
	}
}

// TestEvaluate_ReleasesMemory evaluates many queries near the limit of samples, one after the other. No
// query may fail because of the samples of an earlier one.
func TestEvaluate_ReleasesMemory(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSamples: 100})
	for i := range 90 {
		w.send(reading(t, "a", noon.Add(time.Duration(i-90)*time.Second), "v", "1"))
	}
	for range 20 {
		if got, _ := w.ask(prometheus.Query{Text: `count_over_time(v{device="a"}[2m])`, Start: noon}); strings.Join(got, "") != "a 20T12:00:00=90" {
			t.Fatal(got)
		}
		if got, _ := w.ask(prometheus.Query{Text: `count_over_time(v{device="a"}[2m]) + count_over_time(v{device="a"}[2m] offset 1s)`, Start: noon}); !strings.Contains(strings.Join(got, ""), "reads more than 100 samples") {
			t.Fatal(got)
		}
	}
}
