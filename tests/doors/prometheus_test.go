package doors

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	promclient "github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/prometheus/promtest"
	"github.com/varvedb/varve/tests/varvetest"
)

// promWindow returns the window of the readings of promtest.Fleet: the 36 hours before the last full hour.
func promWindow() varve.Window {
	end := time.Now().UTC().Truncate(time.Hour)
	return varve.Window{From: end.Add(-36 * time.Hour), To: end}
}

// startWithFleet starts Varve without keys. It registers the devices of promtest.Fleet, and writes
// their readings in the window w.
func startWithFleet(t *testing.T, w varve.Window) *server {
	t.Helper()
	v, err := varvetest.Start(context.WithoutCancel(t.Context()), binary, t.TempDir(), "--set", "prometheus.lookback=5m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &server{Server: v}
	for _, d := range promtest.Fleet() {
		if status, text := s.call(t, http.MethodPut, "/v1/devices/"+d.Name, fmt.Sprintf(`{"type":"sensor","attributes":{"site":%q,"floor":%s}}`, d.Site, d.Floor)); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		var body bytes.Buffer
		for _, r := range d.Readings(w) {
			fmt.Fprintf(&body, `{"device":%q,"time":%q,"fields":{`, d.Name, r.Time.Format(time.RFC3339Nano))
			for i, f := range r.Fields {
				if i > 0 {
					body.WriteByte(',')
				}
				fmt.Fprintf(&body, "%q:%s", f.Name, f.Value)
			}
			body.WriteString("}}\n")
		}
		resp, err := http.Post(s.URL+"/v1/streams/"+d.Stream+"/readings", "application/x-ndjson", &body)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status, err)
		}
	}
	return s
}

// startPrometheus starts Prometheus with the samples of the fleet, and returns its URL.
func startPrometheus(t *testing.T, w varve.Window) string {
	t.Helper()
	promtool, dir := debian(t, "bin/promtool"), t.TempDir()
	var text bytes.Buffer
	for _, d := range promtest.Fleet() {
		for _, samples := range d.Samples(d.Readings(w)) {
			for _, s := range samples {
				var labels []string
				for name, value := range s.Labels {
					if name != "__name__" {
						labels = append(labels, fmt.Sprintf("%s=%q", name, value))
					}
				}
				fmt.Fprintf(&text, "%s{%s} %s %d.%03d\n", s.Labels["__name__"], strings.Join(labels, ","), s.Text, s.T/1000, s.T%1000)
			}
		}
	}
	text.WriteString("# EOF\n")
	file, data := filepath.Join(dir, "samples.om"), filepath.Join(dir, "data")
	config := filepath.Join(dir, "prometheus.yml")
	for path, content := range map[string][]byte{file: text.Bytes(), config: []byte("{}\n")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", "-q", file, data).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	return runPrometheus(t, "--config.file", config, "--storage.tsdb.path", data, "--storage.tsdb.retention.time", "1000d")
}

// runPrometheus starts Prometheus, waits until it answers, and returns its URL.
func runPrometheus(t *testing.T, args ...string) string {
	t.Helper()
	address := freeAddress(t)
	cmd := exec.Command(debian(t, "bin/prometheus"), append(args, "--web.listen-address", address)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // Prometheus may have ended already
		_ = cmd.Wait()         // fails, because the process was killed
	})
	if !varvetest.Eventually(func() bool {
		resp, err := http.Get("http://" + address + "/-/ready")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}) {
		t.Fatal("Prometheus does not start")
	}
	return "http://" + address
}

func promAPI(t *testing.T, address string) promv1.API {
	t.Helper()
	c, err := promclient.NewClient(promclient.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	return promv1.NewAPI(c)
}

// evaluate sends a query with client_golang's client.
func evaluate(t *testing.T, api promv1.API, q promtest.Query) (v model.Value, err error) {
	t.Helper()
	if q.Step == 0 {
		v, _, _, err = api.Query(t.Context(), q.Text, q.Start)
	} else {
		v, _, _, err = api.QueryRange(t.Context(), q.Text, promv1.Range{Start: q.Start, End: q.End, Step: q.Step})
	}
	return v, err
}

// pointsOf returns the samples of a PromQL value, by labels.
func pointsOf(v model.Value) map[string][]model.SamplePair {
	all := map[string][]model.SamplePair{}
	switch v := v.(type) {
	case model.Matrix:
		for _, s := range v {
			all[s.Metric.String()] = s.Values
		}
	case model.Vector:
		for _, s := range v {
			all[s.Metric.String()] = []model.SamplePair{{Timestamp: s.Timestamp, Value: s.Value}}
		}
	case *model.Scalar:
		all["scalar"] = []model.SamplePair{{Timestamp: v.Timestamp, Value: v.Value}}
	}
	return all
}

// unequal returns the first difference between the samples of two PromQL values, or "".
func unequal(got, want map[string][]model.SamplePair) string {
	for name := range got {
		if _, ok := want[name]; !ok {
			return "unexpected " + name
		}
	}
	for name, points := range want {
		if len(got[name]) != len(points) {
			return fmt.Sprintf("%s has %d points, want %d", name, len(got[name]), len(points))
		}
		for i, p := range points {
			g, a, b := got[name][i], float64(got[name][i].Value), float64(p.Value)
			if g.Timestamp != p.Timestamp || a != b && !(math.IsNaN(a) && math.IsNaN(b)) && !(math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))) {
				return fmt.Sprintf("%s: %v, want %v", name, g, p)
			}
		}
	}
	return ""
}

// TestPrometheus_EqualAnswers sends 500 generated queries to Varve and to Prometheus, which have the same
// samples and the same look-back. The answers must be equal.
func TestPrometheus_EqualAnswers(t *testing.T) {
	w := promWindow()
	peer := promAPI(t, startPrometheus(t, w))
	own := promAPI(t, startWithFleet(t, w).URL+"/prometheus")
	failed, empty := 0, 0
	for i, q := range promtest.Queries(7, 500, w.To) {
		want, wantErr := evaluate(t, peer, q)
		got, err := evaluate(t, own, q)
		if (err != nil) != (wantErr != nil) {
			t.Errorf("query %d %+v: error %v, want %v", i, q, err, wantErr)
			continue
		}
		if err != nil {
			failed++
			continue
		}
		if d := unequal(pointsOf(got), pointsOf(want)); d != "" {
			t.Errorf("query %d %+v: %s", i, q, d)
		}
		if len(pointsOf(got)) == 0 {
			empty++
		}
	}
	if failed > 50 || empty > 100 {
		t.Errorf("%d queries failed and %d are empty: the generator is of little use", failed, empty)
	}
	t.Logf("%d failed, %d are empty", failed, empty)
	for _, match := range []string{`{stream="weather"}`, `power{site="north"}`, `{device=~"d0[12]"}`} {
		a, _, _, err := own.Series(t.Context(), []string{match}, w.From, w.To)
		b, _, _, peerErr := peer.Series(t.Context(), []string{match}, w.From, w.To)
		if fmt.Sprint(a) != fmt.Sprint(b) || err != nil || peerErr != nil || len(a) == 0 {
			t.Errorf("series %s: %v %v, want %v %v", match, a, err, b, peerErr)
		}
	}
}

// TestPrometheus_Promtool runs the subcommands of promtool query on Varve, and checks their output.
func TestPrometheus_Promtool(t *testing.T) {
	w := promWindow()
	promtool, url := debian(t, "bin/promtool"), startWithFleet(t, w).URL+"/prometheus"
	from, to := strconv.FormatInt(w.To.Add(-2*time.Hour).Unix(), 10), strconv.FormatInt(w.To.Unix(), 10)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"instant", "--time", to, url, `count by (site) (temperature{stream="weather"})`}, `{site="south"} => 3`},
		{[]string{"range", "--start", from, "--end", to, "--step", "1h", url, `count(avg_over_time(temperature{stream="weather"}[1h]))`}, "9 @[" + to + "]"},
		{[]string{"series", "--match", `power{device="d03"}`, "--start", from, "--end", to, url}, `{__name__="power", device="d03", floor="3", site="north", status="active", stream="power", type="sensor"}`},
		{[]string{"labels", "--start", from, "--end", to, url, "site"}, "north\nsouth\nwest"},
	} {
		out, err := exec.Command(promtool, append([]string{"query"}, c.args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("promtool %v: %v\n%s\nwant %s", c.args, err, out, c.want)
		}
	}
}
