package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	promclient "github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/apikeys"
)

// newFleet starts a server with an hour of readings of two devices in stream weather. Device d1 is
// registered with attributes.
func newFleet(t *testing.T) *server {
	t.Helper()
	s := newServer(t, nil)
	device := `{"type":"sensor","location":"Hall 7","attributes":{"site":"north","floor":2,"stream":"x","a-b":true,"nested":{}}}`
	if r := s.send(http.MethodPut, "/v1/devices/d1", device, "Content-Type", "application/json"); r.status != http.StatusOK {
		t.Fatal(r.status, r.body)
	}
	for i := range 60 {
		at := noon.Add(time.Duration(i-60) * time.Minute)
		s.write(numbered("d1", at, fmt.Sprintf(`"temperature":%d.50,"open":true,"note":"x"`, i)), numbered("d2", at, fmt.Sprintf(`"temperature":%d,"humidity":40`, -i)))
	}
	return s
}

// promClient returns the client of client_golang for a path of the server.
func promClient(t *testing.T, s *server, root string) promv1.API {
	t.Helper()
	c, err := promclient.NewClient(promclient.Config{Address: s.URL + root})
	if err != nil {
		t.Fatal(err)
	}
	return promv1.NewAPI(c)
}

const d1Labels = `{__name__="temperature", a_b="true", attribute_stream="x", device="d1", floor="2", location="Hall 7", site="north", status="active", stream="weather", type="sensor"}`

// TestPrometheus_Client reads with client_golang's client, below both roots.
func TestPrometheus_Client(t *testing.T) {
	s := newFleet(t)
	ctx := context.Background()
	for _, root := range []string{"", "/prometheus"} {
		c := promClient(t, s, root)
		v, _, _, err := c.Query(ctx, `temperature{stream="weather"}`, noon)
		want := metricText(d1Labels) + " => 59.5 @[1795003200]\n" + `temperature{device="d2", status="active", stream="weather"} => -59 @[1795003200]`
		if got := fmt.Sprint(v); err != nil || got != want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", root, err, got, want)
		}
		v, _, _, err = c.QueryRange(ctx, `sum by (site) (temperature{device=~"d1|d2"})`, promv1.Range{Start: noon.Add(-30 * time.Minute), End: noon, Step: 15 * time.Minute})
		want = "{} =>\n-30 @[1795001400]\n-45 @[1795002300]\n-59 @[1795003200]\n{site=\"north\"} =>\n30.5 @[1795001400]\n45.5 @[1795002300]\n59.5 @[1795003200]"
		if got := fmt.Sprint(v); err != nil || got != want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", root, err, got, want)
		}
		series, _, _, err := c.Series(ctx, []string{`{device="d1"}`, `temperature{stream="weather",site="north"}`}, noon.Add(-time.Hour), noon)
		if err != nil || len(series) != 1 || model.Metric(series[0]).String() != metricText(d1Labels) {
			t.Errorf("%s: %v %v", root, series, err)
		}
		names, _, _, err := c.LabelNames(ctx, []string{`temperature{device="d2"}`}, noon.Add(-time.Hour), noon)
		if got := fmt.Sprint(names); err != nil || got != "__name__, device, status, stream" {
			t.Errorf("%s: %v %v", root, got, err)
		}
		values, _, _, err := c.LabelValues(ctx, "__name__", nil, noon.Add(-time.Hour), noon)
		if got := fmt.Sprint(values); err != nil || got != "[humidity temperature varve_lag_seconds]" {
			t.Errorf("%s: %v %v", root, got, err)
		}
		metadata, err := c.Metadata(ctx, "", "")
		if err != nil || len(metadata) != 3 || metadata["humidity"][0].Type != promv1.MetricTypeGauge {
			t.Errorf("%s: %v %v", root, metadata, err)
		}
		metadata, err = c.Metadata(ctx, "temperature", "1")
		if err != nil || len(metadata) != 1 || len(metadata["temperature"]) != 1 {
			t.Errorf("%s: with a metric and a limit: %v %v", root, metadata, err)
		}
		if info, err := c.Buildinfo(ctx); err != nil || info.Version != "3.15.0" {
			t.Errorf("%s: %v %v", root, info, err)
		}
		if list, err := c.QueryExemplars(ctx, "temperature", noon, noon); err != nil || len(list) != 0 {
			t.Errorf("%s: %v %v", root, list, err)
		}
	}
}

// metricText returns labels as model.Metric formats them.
func metricText(text string) string {
	return "temperature{" + strings.TrimPrefix(text, `{__name__="temperature", `)
}

// TestPrometheus_Alerts lists a rule and its open alert.
func TestPrometheus_Alerts(t *testing.T) {
	s := newServer(t, nil)
	c := promClient(t, s, "")
	if rules, err := c.Rules(t.Context(), nil); err != nil || len(rules.Groups) != 0 {
		t.Errorf("without rules: %+v %v", rules, err)
	}
	rule := alerts.Rule{ID: "hot", Tenant: "default", Stream: "weather", Field: "t", Comparison: ">", Severity: alerts.Critical}
	body := `{"id":"hot","stream":"weather","field":"t","comparison":">","threshold":30,"severity":"critical","for":"1m"}`
	if r := s.send(http.MethodPost, "/v1/alert-rules", body, "Content-Type", "application/json"); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	s.write(numbered("d1", noon.Add(-5*time.Minute), `"t":31`), numbered("d1", noon.Add(-time.Minute), `"t":32.5`))
	list, err := c.Alerts(t.Context())
	if err != nil || len(list.Alerts) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	a := list.Alerts[0]
	if a.State != promv1.AlertStateFiring || a.Value != "32.5" || !a.ActiveAt.Equal(noon.Add(-5*time.Minute)) ||
		a.Labels.String() != `{alertname="hot", device="d1", severity="critical", stream="weather"}` || a.Annotations["summary"] != "t > 30 for 1m" {
		t.Errorf("%+v", a)
	}
	rules, err := c.Rules(t.Context(), nil)
	if err != nil || len(rules.Groups) != 1 || len(rules.Groups[0].Rules) != 1 {
		t.Fatalf("%+v %v", rules, err)
	}
	got, ok := rules.Groups[0].Rules[0].(promv1.AlertingRule)
	if !ok || got.Name != rule.ID || got.State != "firing" || got.Duration != 60 || got.Query != "t > 30 for 1m" || len(got.Alerts) != 1 {
		t.Errorf("%+v", rules.Groups[0].Rules[0])
	}
}

// TestPrometheus_Errors checks the status, the errorType and the text of errors.
func TestPrometheus_Errors(t *testing.T) {
	s := newFleet(t)
	for _, c := range []struct {
		path   string
		params []string
		status int
		kind   string
		says   string
	}{
		{"query", []string{"query", "1+"}, 400, "bad_data", `invalid parameter \"query\": 1:3: parse error: unexpected end of input`},
		{"query", []string{"query", "1", "time", "x"}, 400, "bad_data", `invalid parameter \"time\": cannot parse \"x\" to a valid timestamp`},
		{"query_range", []string{"query", "1", "start", "1", "end", "0", "step", "1"}, 400, "bad_data", "end timestamp must not be before start time"},
		{"query_range", []string{"query", "1", "start", "0", "end", "1", "step", "0"}, 400, "bad_data", "zero or negative query resolution step widths"},
		{"query_range", []string{"query", "1", "start", "0", "end", "1000000", "step", "1"}, 400, "bad_data", "exceeded maximum resolution of 11,000 points"},
		{"query_range", []string{"query", "1", "start", "0", "end", "1", "step", "0.0005"}, 400, "bad_data", `invalid parameter \"step\": query resolution step widths below a millisecond`},
		{"query_range", []string{"query", "1", "start", "0", "end", "11.001", "step", "0.0011"}, 400, "bad_data", "exceeded maximum resolution of 11,000 points"},
		{"query_range", []string{"query", "1", "start", "-5000000000000", "end", "0", "step", "1y"}, 400, "bad_data", "exceeded maximum resolution of 11,000 points"},
		{"query_range", []string{"query", "1", "start", "-1e300", "end", "1e300", "step", "1y"}, 400, "bad_data", "exceeded maximum resolution of 11,000 points"},
		{"query", []string{"query", "1", "time", "NaN"}, 400, "bad_data", `cannot parse \"NaN\" to a valid timestamp`},
		{"query_range", []string{"query", "1", "start", "0", "end", "1", "step", "1", "lookback_delta", "-5m"}, 400, "bad_data", `error parsing lookback delta duration`},
		{"query", []string{"query", "1", "lookback_delta", "-1"}, 400, "bad_data", `\"-1\" is negative: use a positive duration`},
		{"query_range", []string{"query", `rate(a{device="d1"}[5m])[1h:]`, "start", "0", "end", "1", "step", "1"}, 400, "bad_data", "invalid expression type"},
		{"query", []string{"query", "temperature"}, 422, "execution", "names no stream and no device"},
		{"query", []string{"query", `sum_over_time(temperature{site="north"}[5m])`}, 422, "execution", "names no stream and no device"},
		{"query", []string{"query", `label_replace(temperature{device="d1"}, "device", "", "", "") + on() {device=~"d1|d2"}`}, 422, "execution", "many-to-many"},
		{"series", nil, 400, "bad_data", "no match[] parameter provided"},
		{"series", []string{"match[]", "x{"}, 400, "bad_data", "parse error"},
		{"labels", []string{"limit", "-1"}, 400, "bad_data", "limit must be non-negative"},
		{"query", []string{"query", "1", "timeout", "x"}, 400, "bad_data", `cannot parse \"x\" to a valid duration`},
		{"query", []string{"query", `temperature{device="d1"}`, "timeout", "0.000000001"}, 503, "timeout", "context deadline exceeded"},
	} {
		r := s.get(with("/api/v1/"+c.path, c.params...))
		if r.status != c.status || !strings.HasPrefix(r.body, `{"error":`) && !strings.Contains(r.body, `"status":"error"`) ||
			!strings.Contains(r.body, `"errorType":"`+c.kind+`"`) || !strings.Contains(r.body, c.says) {
			t.Errorf("%s %v: %d %s, want %d %s %s", c.path, c.params, r.status, r.body, c.status, c.kind, c.says)
		}
	}
	if n := s.failures(); n != 0 {
		t.Errorf("%d errors of clients are reported as failures of the server", n)
	}
}

func TestPrometheus_Limits(t *testing.T) {
	s := start(t, nil, nil, func(o *api.Options) { o.Prometheus = api.Prometheus{MaxSeries: 2, MaxSamples: 100} })
	for _, device := range []string{"d1", "d2", "d3"} {
		for i := range 60 {
			s.write(numbered(device, noon.Add(time.Duration(i-60)*time.Minute), `"a":1,"b":2`))
		}
	}
	for query, want := range map[string]string{
		`a{stream="weather"}`:                             "matches 3 series, and the limit is 2: select fewer devices or fields, or raise query.max_series",
		`{device=~"d1|d2"}`:                               "matches 4 series",
		`count_over_time(a{device=~"d1|d2"}[59m])`:        "reads more than 100 samples",
		`a{device="d1"}`:                                  `"value":[1795003200,"1"]`,
		`count({device="d2"})`:                            `"2"`,
		`max_over_time(vector(1)[1h:1s])`:                 "the query has more than 100 steps: choose a shorter range or a longer step, or raise query.max_samples",
		`count(a{stream="weather",device!="d2"})`:         `"2"`,
		`count(a{stream="weather",device=~"d1|d2|none"})`: `"2"`,
	} {
		r := s.send(http.MethodPost, "/prometheus/api/v1/query", url.Values{"query": {query}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		if !strings.Contains(r.body, want) {
			t.Errorf("%s: %s, want %s", query, r.body, want)
		}
	}
}

// TestPrometheus_SeparatesTenants checks that the key of another tenant reads no data of tenant
// default.
func TestPrometheus_SeparatesTenants(t *testing.T) {
	s := newFleet(t)
	admin := addKey(t, s, "default", apikeys.Admin)
	other := addKey(t, s, "acme", apikeys.Read)
	writer := addKey(t, s, "default", apikeys.Write)
	ask := func(key, path string) string {
		r := s.get(path, "Authorization", "Bearer "+key)
		return fmt.Sprint(r.status, " ", r.body)
	}
	query := with("/api/v1/query", "query", `count({stream="weather"})`)
	if got := ask(admin, query); !strings.Contains(got, `"3"`) {
		t.Error(got)
	}
	for _, path := range []string{query, with("/api/v1/series", "match[]", `{stream="weather"}`), "/api/v1/labels", "/api/v1/label/device/values", "/api/v1/rules", "/api/v1/alerts"} {
		if got := ask(other, path); !strings.HasPrefix(got, "200 ") || strings.Contains(got, "d1") || strings.Contains(got, `"3"`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := ask(writer, query); !strings.HasPrefix(got, "403 {") || !strings.Contains(got, `"status":"error"`) {
		t.Error(got)
	}
	if got := ask("", query); !strings.HasPrefix(got, "401 {") {
		t.Error(got)
	}
}

func addKey(t *testing.T, s *server, tenant string, scopes apikeys.Scopes) string {
	t.Helper()
	_, text, err := s.engine.Keys.Create(t.Context(), apikeys.Draft{Tenant: tenant, Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
