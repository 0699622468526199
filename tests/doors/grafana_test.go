package doors

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

const grafanaDir = "../../contrib/grafana"

// dashboard has the parts of a dashboard that Grafana needs for its queries.
type dashboard struct {
	UID, Title string
	Time       struct{ From string }
	Templating struct {
		List []struct {
			Name       string
			Multi      bool
			Datasource struct{ UID string }
			Query      struct{ Query string }
		}
	}
	Panels []panel
}

type panel struct {
	Title, Interval string
	Datasource      struct{ UID string }
	Targets         []target
}

type target struct {
	Expr, LegendFormat, URL string
	Instant                 bool
	RootSelector            string `json:"root_selector"`
	Columns                 []struct{ Selector, Text string }
	FilterExpression        string // an expression with the texts of columns
}

// grafana sends the queries of dashboards as Grafana does.
type grafana struct {
	t        *testing.T
	key      string
	sources  map[string]string // address of each data source, by uid
	values   map[string]string // values of the variables of the dashboard, by name
	from, to time.Time
}

// send sends a request as the proxy of Grafana, and returns the body of the answer.
func (g *grafana) send(method, address string, form url.Values) []byte {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		g.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if metrics := g.sources["varve-metrics"]; metrics == "" || !strings.HasPrefix(address, metrics) {
		r.Header.Set("Authorization", "Bearer "+g.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); err != nil || closed != nil || resp.StatusCode != http.StatusOK {
		g.t.Errorf("%s %s %v: %d %s %v", method, address, form, resp.StatusCode, text, err)
	}
	return text
}

// promData sends a request to a Prometheus data source, and returns the data. A warning fails the
// test.
func promData[T any](g *grafana, method, address string, form url.Values) (data T) {
	g.t.Helper()
	var answer struct {
		Status          string
		Data            T
		Warnings, Infos []string
	}
	if err := json.Unmarshal(g.send(method, address, form), &answer); err != nil || answer.Status != "success" || len(answer.Warnings) > 0 {
		g.t.Errorf("%s %v: %+v %v", address, form, answer, err)
	}
	return answer.Data
}

var valuesOf = regexp.MustCompile(`^label_values\((?:(.*), *)?(\w+)\)$`)

// loadVariables sets each variable of a dashboard to the first of its possible values. A variable that
// permits several values gets all of them.
func (g *grafana) loadVariables(d *dashboard) {
	g.t.Helper()
	g.values = map[string]string{}
	for _, v := range d.Templating.List {
		m := valuesOf.FindStringSubmatch(v.Query.Query)
		if m == nil {
			g.t.Fatalf("%s: %s is not understood", d.UID, v.Query.Query)
		}
		asked := url.Values{"start": {unix(g.from)}, "end": {unix(g.to)}}
		if m[1] != "" {
			asked.Set("match[]", g.substitute(m[1], time.Minute))
		}
		list := promData[[]string](g, http.MethodGet, g.sources[v.Datasource.UID]+"/api/v1/label/"+m[2]+"/values?"+asked.Encode(), nil)
		if len(list) == 0 {
			g.t.Fatalf("%s: variable %s has no values", d.UID, v.Name)
		}
		if g.values[v.Name] = list[0]; v.Multi {
			g.values[v.Name] = "(" + strings.Join(list, "|") + ")"
		}
	}
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func (g *grafana) substitute(text string, step time.Duration) string {
	pairs := []string{
		"$__interval", step.String(), "$__rate_interval", max(4*time.Minute, step+time.Minute).String(), "$__range", g.to.Sub(g.from).String(),
		"${__from:date:iso}", g.from.Format(time.RFC3339), "${__to:date:iso}", g.to.Format(time.RFC3339),
	}
	for name, value := range g.values {
		pairs = append(pairs, "${"+name+":percentencode}", url.PathEscape(value), "${"+name+"}", value, "$"+name, value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// stepOf returns the step that Grafana chooses for a panel.
func (g *grafana) stepOf(p *panel) time.Duration {
	least := time.Minute
	if p.Interval != "" {
		var err error
		if least, err = time.ParseDuration(p.Interval); err != nil {
			g.t.Fatal(err)
		}
	}
	return max(least, (g.to.Sub(g.from) / 1000).Truncate(time.Minute))
}

var legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)

// checkMetric runs a PromQL query. The answer must have values, and the labels that the panel's legend
// names.
func (g *grafana) checkMetric(where string, p *panel, q *target) {
	g.t.Helper()
	step := g.stepOf(p)
	form := url.Values{"query": {g.substitute(q.Expr, step)}}
	path := "/api/v1/query"
	if q.Instant {
		form.Set("time", unix(g.to))
	} else {
		path += "_range"
		form.Set("start", unix(g.from.Truncate(step)))
		form.Set("end", unix(g.to.Truncate(step)))
		form.Set("step", strconv.FormatFloat(step.Seconds(), 'f', -1, 64))
	}
	data := promData[struct {
		Result []struct {
			Metric map[string]string
		}
	}](g, http.MethodPost, g.sources[p.Datasource.UID]+path, form)
	if len(data.Result) == 0 {
		g.t.Errorf("%s: %s has no data", where, form.Get("query"))
	}
	for _, m := range legendLabel.FindAllStringSubmatch(q.LegendFormat, -1) {
		for _, r := range data.Result {
			if r.Metric[m[1]] == "" {
				g.t.Errorf("%s: %v has no label %s", where, r.Metric, m[1])
			}
		}
	}
}

// checkTable runs a query of the data source Infinity. The answer must have rows. Each column must have a
// value in at least one row.
func (g *grafana) checkTable(where string, p *panel, q *target) {
	g.t.Helper()
	var answer map[string]json.RawMessage
	address := g.sources[p.Datasource.UID] + g.substitute(q.URL, time.Minute)
	if err := json.Unmarshal(g.send(http.MethodGet, address, nil), &answer); err != nil {
		g.t.Errorf("%s: %v", where, err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(answer[q.RootSelector], &rows); err != nil || len(rows) == 0 {
		g.t.Errorf("%s: %s has no rows: %v", where, address, err)
	}
	for _, c := range q.Columns {
		found := false
		for _, row := range rows {
			found = found || row[c.Selector] != nil
		}
		if !found {
			g.t.Errorf("%s: %s has no column %s: %v", where, address, c.Selector, rows)
		}
	}
}

// fillForGrafana writes a day of readings of three devices, with an open alert, a late upload and a
// reject.
func fillForGrafana(t *testing.T, s *server, to time.Time) {
	t.Helper()
	put := func(method, path, body string) {
		t.Helper()
		if status, text := s.call(t, method, path, body); status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, text)
		}
	}
	put(http.MethodPost, "/v1/alert-rules", `{"id":"hot","stream":"weather","field":"temperature","comparison":">","threshold":90,"severity":"critical","gap":"none"}`)
	for i := range 3 {
		device := fmt.Sprint("d", i)
		put(http.MethodPut, "/v1/devices/"+device, `{"name":"Tank","type":"sensor","location":"Hall 7","firmware":"1.2"}`)
		var lines []string
		for minute := range 24 * 60 {
			at := to.Add(time.Duration(minute-24*60) * time.Minute)
			lines = append(lines, fmt.Sprintf(`{"device":%q,"time":%q,"fields":{"temperature":%d.5,"humidity":%d,"state":"on"}}`, device, at.Format(time.RFC3339), i+minute%100, minute%40))
		}
		put(http.MethodPost, "/v1/streams/weather/readings", "["+strings.Join(lines, ",")+"]")
	}
	put(http.MethodPost, "/v1/streams/weather/readings", fmt.Sprintf(`[{"device":"d0","time":%q,"fields":{"temperature":99}}]`, to.Add(-time.Second).Format(time.RFC3339)))
	s.call(t, http.MethodPost, "/v1/streams/weather/readings", `[{"device":"d0","time":"2150-01-01T00:00:00Z","fields":{"temperature":1}}]`)
}

// scrape starts a Prometheus that scrapes Varve every second, and returns its address.
func scrape(t *testing.T, s *server) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("scrape_configs: [{job_name: varve, scrape_interval: 1s, authorization: {credentials: %q}, static_configs: [{targets: [%q]}]}]\n",
		s.key, strings.TrimPrefix(s.URL, "http://"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return runPrometheus(t, "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"))
}

// TestGrafana_PanelsHaveData runs the queries of all variables and panels in contrib/grafana. Each
// answer must have values.
func TestGrafana_PanelsHaveData(t *testing.T) {
	s := startServer(t)
	metrics := scrape(t, s)
	to := time.Now().UTC().Truncate(time.Second)
	fillForGrafana(t, s, to)
	files, err := filepath.Glob(filepath.Join(grafanaDir, "dashboards", "*.json"))
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	g := &grafana{t: t, key: s.key, sources: map[string]string{"varve": s.URL + "/prometheus", "varve-infinity": s.URL, "varve-metrics": metrics}}
	panels := 0
	for _, file := range files {
		var d dashboard
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil || d.UID+".json" != filepath.Base(file) {
			t.Fatalf("%s: %s %v", file, d.UID, err)
		}
		if g.from, g.to = to.Add(-24*time.Hour), to; d.UID == "varve-server" {
			g.waitForScrapes()
		}
		g.loadVariables(&d)
		for i := range d.Panels {
			p := &d.Panels[i]
			for j := range p.Targets {
				panels++
				if where := d.Title + ", " + p.Title; p.Targets[j].Expr != "" {
					g.checkMetric(where, p, &p.Targets[j])
				} else {
					g.checkTable(where, p, &p.Targets[j])
				}
			}
		}
	}
	if panels < 40 {
		t.Errorf("%d queries", panels)
	}
}

// waitForScrapes waits until Prometheus can compute rates of Varve's metrics. It also sets the
// fields "from" and "to".
func (g *grafana) waitForScrapes() {
	g.t.Helper()
	ready := func() bool {
		g.from, g.to = time.Now().Add(-time.Hour), time.Now()
		query := url.Values{"query": {`count(rate(varve_readings_total[1m])) and on() varve_tables and on() varve_rollups_backlog >= 0`}, "time": {unix(g.to)}}
		return len(promData[struct{ Result []any }](g, http.MethodPost, g.sources["varve-metrics"]+"/api/v1/query", query).Result) > 0
	}
	if !varvetest.Eventually(ready) {
		g.t.Fatal("Prometheus has no metrics of Varve")
	}
	g.to = g.to.Add(time.Minute) // rounded down to a step, the end of the range is still after all scrapes
}

// TestGrafana_RequestSequence sends the requests of Grafana's data source of type Prometheus. Grafana sends
// them to test the connection, to probe features, for completion, and in Explore.
func TestGrafana_RequestSequence(t *testing.T) {
	s := startServer(t)
	to := time.Now().UTC().Truncate(time.Second)
	fillForGrafana(t, s, to)
	window := url.Values{"start": {unix(to.Add(-time.Hour)) + ".123"}, "end": {unix(to)}, "limit": {"40000"}}
	with := func(pairs ...string) url.Values {
		v := url.Values{}
		for name, list := range window {
			v[name] = list
		}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v
	}
	g := &grafana{t: t, key: s.key}
	for _, c := range []struct {
		method, path string
		form         url.Values
		want         string
	}{
		{http.MethodPost, "query", url.Values{"query": {"1+1"}, "time": {"4"}}, `{"status":"success","data":{"resultType":"scalar","result":[4,"2"]}}`},
		{http.MethodGet, "status/buildinfo", nil, `"features":{}`},
		{http.MethodPost, "labels", with(), `"data":["__name__","device","firmware","location","name","status","stream","type"]`},
		{http.MethodGet, "labels", with("match[]", `{stream="weather"}`), `"location"`},
		{http.MethodGet, "label/__name__/values", with("match[]", `{__name__=~".*temp.*"}`), `"data":["temperature"]`},
		{http.MethodGet, "label/device/values", with("match[]", `temperature{stream="weather",type="sensor"}`), `"data":["d0","d1","d2"]`},
		{http.MethodPost, "series", with("match[]", `humidity{device="d1"}`), `"location":"Hall 7"`},
		{http.MethodGet, "metadata", url.Values{"limit": {"40000"}}, `"temperature":[{"type":"gauge","help":"","unit":""}]`},
		{http.MethodPost, "query_exemplars", with("query", `temperature{device="d1"}`), `"data":[]`},
		{http.MethodGet, "rules", nil, `"name":"hot"`},
		{http.MethodGet, "alerts", nil, `"alertname":"hot"`},
		{http.MethodPost, "query_range", with("query", `temperature{device="d1"}`, "step", "15.5", "timeout", "60s"), `"resultType":"matrix"`},
		{http.MethodPost, "query", url.Values{"query": {`temperature{device="d1"}`}, "time": {unix(to) + ".5"}}, `"resultType":"vector"`},
	} {
		address, form := s.URL+"/prometheus/api/v1/"+c.path, c.form
		if c.method == http.MethodGet {
			address, form = address+"?"+form.Encode(), nil
		}
		if got := string(g.send(c.method, address, form)); !strings.HasPrefix(got, `{"status":"success","data":`) || !strings.Contains(got, c.want) {
			t.Errorf("%s %s %v: %.500s, want %s", c.method, c.path, c.form, got, c.want)
		}
	}
}
