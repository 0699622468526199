package prometheus_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/prometheus"
)

// TestTags_AreLabels checks that the tags of line protocol in the name of a device become labels. No tag
// may replace a label of Varve or an attribute.
func TestTags_AreLabels(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	attributes, err := varve.JSONValue([]byte(`{"site":"north","tag_rack":"7"}`))
	if err != nil {
		t.Fatal(err)
	}
	cpu0 := "a%3B;cpu=cpu0;site=south"
	w.register(&devices.Device{Tenant: varve.DefaultTenant, Device: cpu0, Attributes: attributes})
	odd := "b;7x=y;__name__=n;a-b=1;a_b=2;device=d;device_base=e;name=f;stream=s;tag_rack=8;tenant=t"
	w.send(reading(t, cpu0, at(20, 11, 59), "idle", "1"), reading(t, odd, at(20, 11, 59), "idle", "2"), reading(t, "c;1", at(20, 11, 59), "idle", "4"))
	s := prometheus.Selection{Tenant: varve.DefaultTenant, Match: []string{`{stream="weather"}`}, Window: varve.AllTime()}
	list, err := w.promql.Series(t.Context(), s)
	want := `{"_7x":"y","__name__":"idle","a_b":"1","a_b_2":"2","device":"` + odd + `","device_base":"b","status":"active","stream":"weather",` +
		`"tag___name__":"n","tag_device":"d","tag_device_base":"e","tag_name":"f","tag_rack":"8","tag_stream":"s","tag_tenant":"t"}` + "\n" +
		`{"__name__":"idle","cpu":"cpu0","device":"` + cpu0 + `","device_base":"a;","site":"north","status":"active","stream":"weather","tag_rack":"7","tag_site":"south"}` + "\n" +
		`{"__name__":"idle","device":"c;1","status":"active","stream":"weather"}` + "\n"
	got := ""
	for _, l := range list.Items {
		got += string(prometheus.AppendLabels(nil, l)) + "\n"
	}
	if err != nil || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

// TestTags_SelectSeries checks matchers, groups and lists of labels of tags.
func TestTags_SelectSeries(t *testing.T) {
	for _, embedded := range []bool{false, true} {
		w := newWorld(t, embedded, prometheus.Options{})
		for i, device := range []string{"a;cpu=cpu0", "a;cpu=cpu1", "b;cpu=cpu0", "c"} {
			w.send(reading(t, device, at(20, 11, 59), "idle", fmt.Sprint(1<<i)))
		}
		for query, want := range map[string]string{
			`idle{stream="weather", cpu="cpu0"}`:                      "a;cpu=cpu0 20T12:00:00=1 | b;cpu=cpu0 20T12:00:00=4",
			`idle{stream="weather", cpu!="cpu0"}`:                     "a;cpu=cpu1 20T12:00:00=2 | c 20T12:00:00=8",
			`idle{device=~"a;cpu=cpu0|a;cpu=cpu1", cpu=~".+1"}`:       "a;cpu=cpu1 20T12:00:00=2",
			`sum(idle{stream="weather", device_base="a"})`:            " 20T12:00:00=3",
			`count by (cpu) (idle{stream="weather"})`:                 " 20T12:00:00=1 |  20T12:00:00=1 |  20T12:00:00=2",
			`sum without (device,cpu) (idle{device=~"a;cpu=cpu0|c"})`: " 20T12:00:00=1 |  20T12:00:00=8",
		} {
			if got, _ := w.ask(prometheus.Query{Text: query, Start: noon}); strings.Join(got, " | ") != want {
				t.Errorf("embedded %t, %s: %q, want %q", embedded, query, got, want)
			}
		}
		s := prometheus.Selection{Tenant: varve.DefaultTenant, Match: []string{`{cpu="cpu0"}`}, Window: varve.AllTime()}
		names, err := w.promql.LabelNames(t.Context(), s)
		if got := strings.Join(names.Items, " "); err != nil || got != "__name__ cpu device device_base status stream" {
			t.Errorf("embedded %t: labels %q, %v", embedded, got, err)
		}
		values, err := w.promql.LabelValues(t.Context(), "device_base", s)
		if got := strings.Join(values.Items, " "); err != nil || got != "a b" {
			t.Errorf("embedded %t: values %q, %v", embedded, got, err)
		}
	}
}
