package prometheus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/prometheus"
)

func TestLookback_FollowsInterval(t *testing.T) {
	for _, c := range []struct {
		options  prometheus.Options
		interval time.Duration
		lookback time.Duration
	}{
		{prometheus.Options{}, 10 * time.Second, 5 * time.Minute},
		{prometheus.Options{}, 10 * time.Minute, 30 * time.Minute},
		{prometheus.Options{}, time.Hour, 3 * time.Hour},
		{prometheus.Options{}, 4 * 24 * time.Hour, 7 * 24 * time.Hour},
		{prometheus.Options{Lookback: time.Minute}, time.Hour, time.Minute},
		{prometheus.Options{Lookback: time.Minute, StreamLookback: map[string]time.Duration{"weather": 20 * time.Minute}}, time.Hour, 20 * time.Minute},
		{prometheus.Options{StreamLookback: map[string]time.Duration{"weather": time.Minute}}, time.Hour, time.Minute},
		{prometheus.Options{Lookback: time.Hour, StreamLookback: map[string]time.Duration{"weather": time.Minute}}, time.Hour, time.Minute},
		{prometheus.Options{StreamLookback: map[string]time.Duration{"other": 7 * 24 * time.Hour}}, time.Hour, 3 * time.Hour},
		{prometheus.Options{Lookback: time.Minute, StreamLookback: map[string]time.Duration{"other": 7 * 24 * time.Hour}}, time.Hour, time.Minute},
	} {
		w := newWorld(t, false, c.options)
		last := at(10, 12, 0)
		other := reading(t, "b", last.Add(-24*time.Hour), "v", "1") // device a never sends to this stream
		other.Stream = "other"
		w.send(other)
		for i := range 20 {
			w.send(reading(t, "a", last.Add(-time.Duration(i)*c.interval), "v", "1"))
		}
		for _, text := range []string{`v{device="a"}`, `v{device="a"} and v{stream="weather"} offset -1ms`} {
			within, _ := w.ask(prometheus.Query{Text: text, Start: last.Add(c.lookback - 2*time.Millisecond)})
			after, _ := w.ask(prometheus.Query{Text: text, Start: last.Add(c.lookback)})
			if len(within) != 1 || len(after) != 0 {
				t.Errorf("interval %s, %s: %v within %s, %v after it", c.interval, text, within, c.lookback, after)
			}
		}
		own, _ := w.ask(prometheus.Query{Text: `v{device="a"}`, Start: last.Add(20 * 24 * time.Hour), Lookback: 21 * 24 * time.Hour})
		if len(own) != 1 {
			t.Errorf("with a look-back of the query: %v", own)
		}
	}
}

// TestLookback_IgnoresNegative checks that a negative look-back counts as none.
func TestLookback_IgnoresNegative(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	for i := range 60 {
		w.send(reading(t, "a", noon.Add(time.Duration(i-60)*time.Minute), "v", fmt.Sprint(i)))
	}
	q := prometheus.Query{Text: `v{device="a"}`, Start: noon.Add(-30 * time.Minute), End: noon, Step: 7 * time.Minute}
	want, _ := w.ask(q)
	q.Lookback = -10 * time.Minute
	if got, _ := w.ask(q); len(want) != 1 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSamples_LastOfMillisecond checks that the last of several readings in one millisecond is the sample,
// and that texts are not samples.
func TestSamples_LastOfMillisecond(t *testing.T) {
	for _, embedded := range []bool{false, true} {
		w := newWorld(t, embedded, prometheus.Options{})
		one := func(ns int, id, v string) varve.Reading {
			r := reading(t, "a", at(20, 11, 59).Add(time.Duration(ns)), "v", v)
			r.ID, _ = varve.ParseID(id) // the id is valid
			return r
		}
		w.send(one(0, "b", "1"), one(0, "c", "2"), one(0, "a", "3"), one(999_999, "a", "4"), one(1_000_000, "a", "5"), one(2_000_000, "a", "text"))
		if got, _ := w.ask(prometheus.Query{Text: `sum_over_time(v{device="a"}[5m])`, Start: noon}); strings.Join(got, "") != "a 20T12:00:00=9" {
			t.Errorf("embedded %t: %v, want 4 + 5", embedded, got)
		}
		if got, _ := w.ask(prometheus.Query{Text: `v{device="a"}`, Start: at(20, 11, 59)}); strings.Join(got, "") != "a 20T11:59:00=4" {
			t.Errorf("embedded %t: %v, want 4", embedded, got)
		}
	}
}

// TestSeries_HaveAttributes checks that attributes become labels with valid names. If two attributes have
// the same label name, a number is added. If the name is a label of Varve, the prefix attribute_ is added.
func TestSeries_HaveAttributes(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	attributes, err := varve.JSONValue([]byte(`{"a-b":1.50,"a_b":"two","a.b":true,"7x":"y","device":"z","name":"n","__x":"u","ä":"v","list":[1],"none":null,"empty":"","ok":"q\"\\\n"}`))
	if err != nil {
		t.Fatal(err)
	}
	w.register(&devices.Device{Tenant: varve.DefaultTenant, Device: "a", Name: "Tank 1", Firmware: "1.2", Attributes: attributes})
	w.send(reading(t, "a", at(20, 11, 59), "battery-level", "1", "note", "text"))
	list, err := w.promql.Series(t.Context(), prometheus.Selection{Tenant: varve.DefaultTenant, Match: []string{`{stream="weather"}`}, Window: varve.AllTime()})
	want := `{"_":"v","_7x":"y","__name__":"battery-level","a_b":"1.5","a_b_2":"true","a_b_3":"two","attribute___x":"u","attribute_device":"z","attribute_name":"n",` +
		`"device":"a","firmware":"1.2","name":"Tank 1","ok":"q\"\\\n","status":"active","stream":"weather"}`
	if err != nil || len(list.Items) != 1 || string(prometheus.AppendLabels(nil, list.Items[0])) != want {
		t.Errorf("%v %s\nwant %s", err, list.Items, want)
	}
	if got, _ := w.ask(prometheus.Query{Text: `{"battery-level", a_b_2="true", device="a"}`, Start: noon}); len(got) != 1 {
		t.Error(got)
	}
}

// TestSeries_Windows lists the series with readings in a window. A truncated list must have a warning.
func TestSeries_Windows(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSeries: 3})
	for i := range 5 {
		w.send(reading(t, fmt.Sprint("d", i), at(10+i, 12, 0), "v", "1"))
	}
	w.send(reading(t, "d0", at(18, 12, 0), "u", "1"))
	for _, c := range []struct {
		match    string
		from, to time.Time
		want     string
		warned   bool
	}{
		{`{device=~"d0|d1|d2"}`, at(1, 0, 0), noon, "u v", false},
		{`{device=~"d0|d1|d2"}`, at(10, 0, 0), at(11, 0, 0), "v", false},
		{`{device=~"d0|d1|d2"}`, at(18, 12, 0), at(18, 12, 0), "u v", false},
		{`{device=~"d0|d1|d2"}`, at(19, 0, 0), noon, "", false},
		{`{stream="weather"}`, at(1, 0, 0), noon, "u v", true},
		{`u{device=~".+"}`, at(1, 0, 0), noon, "u", true},
	} {
		s := prometheus.Selection{Tenant: varve.DefaultTenant, Match: []string{c.match}, Window: prometheus.WindowOf(c.from, c.to)}
		list, err := w.promql.LabelValues(t.Context(), "__name__", s)
		if got := strings.Join(list.Items, " "); err != nil || got != c.want || len(list.Warnings) > 0 != c.warned {
			t.Errorf("%+v: %q %v %v", c, got, list.Warnings, err)
		}
	}
}

// TestLag_IsSeries checks that the lag is a series of each device, but not a result of selectors without
// its name. One store returns readings, and one returns columns.
func TestLag_IsSeries(t *testing.T) {
	for _, embedded := range []bool{false, true} {
		w := newWorld(t, embedded, prometheus.Options{})
		w.send(reading(t, "a", noon.Add(-time.Hour), "v", "1"), reading(t, "a", noon.Add(-1500*time.Millisecond), "v", "text"))
		q := prometheus.Query{Text: `max_over_time(varve_lag_seconds{stream="weather"}[1h])`, Start: noon.Add(-time.Hour), End: noon, Step: time.Hour}
		if got, n := w.ask(q); strings.Join(got, "") != "a 20T11:00:00=3600 20T12:00:00=1.5" || n != 0 {
			t.Errorf("embedded %t: %v, %d from roll-ups", embedded, got, n)
		}
		if got, _ := w.ask(prometheus.Query{Text: `count({stream="weather"})`, Start: noon, Lookback: 2 * time.Hour}); strings.Join(got, "") != " 20T12:00:00=1" {
			t.Errorf("embedded %t: %v series without a name", embedded, got)
		}
		s := prometheus.Selection{Tenant: varve.DefaultTenant, Match: []string{`varve_lag_seconds{device="a"}`}, Window: varve.AllTime()}
		if list, err := w.promql.Series(t.Context(), s); err != nil || len(list.Items) != 1 {
			t.Errorf("embedded %t: %v %v", embedded, list, err)
		}
	}
}
