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

// TestMaxSeries_KeepsRareFields selects a field that is not among the last readings of a device. The
// stream has more devices than a selector may match series, and the answer must still be complete.
func TestMaxSeries_KeepsRareFields(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSeries: 3})
	w.send(reading(t, "a", noon.Add(-3*time.Hour), "battery", "7"))
	for i := range 100 {
		w.send(reading(t, "a", noon.Add(time.Duration(i-100)*time.Minute), "temperature", "1"))
	}
	for _, device := range []string{"b", "c", "d"} {
		w.send(reading(t, device, noon.Add(-time.Minute), "battery", "8"))
	}
	w.register(&devices.Device{Tenant: varve.DefaultTenant, Device: "without readings"})
	w.send(reading(t, "e", noon.Add(-time.Minute), "level", "1"))
	for _, c := range []struct{ text, want string }{
		{`battery{stream="weather",device!="d"}`, "a 20T12:00:00=7; b 20T12:00:00=8; c 20T12:00:00=8"},
		{`level{stream="weather"}`, "e 20T12:00:00=1"},
		{`battery{stream="weather"}`, "matches 4 series, and the limit is 3"},
	} {
		got, _ := w.ask(prometheus.Query{Text: c.text, Start: noon, Lookback: 24 * time.Hour})
		if text := strings.Join(got, "; "); text != c.want && !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", c.text, text, c.want)
		}
	}
}

// TestSeries_BuildsTargetsUpToLimit lists labels of 20 streams and 300 devices with a limit of one
// device. The warning must have the number of all 6,000 pairs, but the request must not build them.
func TestSeries_BuildsTargetsUpToLimit(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSeries: 1})
	for i := range 300 {
		w.register(&devices.Device{Tenant: varve.DefaultTenant, Device: fmt.Sprintf("d%03d", i)})
	}
	for i := range 20 {
		r := reading(t, "d000", noon.Add(-time.Minute), "v", "1")
		r.Stream = fmt.Sprint("stream", i)
		w.send(r)
	}
	allocations := testing.AllocsPerRun(5, func() {
		list, err := w.promql.LabelNames(t.Context(), prometheus.Selection{Tenant: varve.DefaultTenant, Window: varve.AllTime()})
		if warnings := fmt.Sprint(list.Warnings); err != nil || !strings.Contains(warnings, "only 1 of 6000 devices in streams") {
			t.Fatalf("%s %v, want a warning with 1 of 6000", warnings, err)
		}
	})
	if allocations > 1000 {
		t.Errorf("%v allocations, want less than one per pair", allocations)
	}
}

// TestMaxSeries_EndsRead selects a device whose readings have one of 1000 fields each. The read must end
// once it has found more series than the limit, which the count in the error shows.
func TestMaxSeries_EndsRead(t *testing.T) {
	for _, embedded := range []bool{false, true} {
		w := newWorld(t, embedded, prometheus.Options{MaxSeries: 3})
		for i := range 1000 {
			w.send(reading(t, "a", noon.Add(time.Duration(i-1000)*time.Second), fmt.Sprintf("f%03d", i), "1"))
		}
		got, _ := w.ask(prometheus.Query{Text: `sum_over_time({device="a"}[1h])`, Start: noon.Add(time.Second)})
		var found int
		text := strings.Join(got, "; ")
		if _, after, ok := strings.Cut(text, "matches "); ok {
			fmt.Sscan(after, &found)
		}
		if found <= 3 || found > 600 {
			t.Errorf("embedded %t: %q, want an error before all 1000 series are read", embedded, text)
		}
	}
}
