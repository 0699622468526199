package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"time"
)

// promQuery is a PromQL query that both peers answer. The verb %s in its text stands for a
// selector of PromQL.
type promQuery struct {
	name     string
	text     string
	hundred  bool // whether the query is about 100 devices instead of one
	step     time.Duration
	series   int // number of series in the answer
	requests int // number of measured requests
}

var promQueries = []promQuery{
	{"24 h of a device, each minute", "%s", false, time.Minute, 1, 400},
	{"24 h of a device, each five minutes", "%s", false, 5 * time.Minute, 1, 400},
	{"24 h of 100 devices, each five minutes", "%s", true, 5 * time.Minute, 100, 40},
	{"24 h of 100 devices, the mean of all", "avg(%s)", true, 5 * time.Minute, 1, 40},
	{"24 h of 100 devices, maxima of ten minutes", "max by (device) (max_over_time(%s[10m]))", true, 5 * time.Minute, 100, 40},
}

// target returns the request path of the query for the 24 hours before end. The number i selects the
// device. In VictoriaMetrics, a metric's name is the stream and the field. In Varve, the stream is a label.
func (q *promQuery) target(i int, victoria bool, end time.Time) string {
	device := fmt.Sprintf(`device="dev-%04d"`, i*37%devices)
	if q.hundred {
		device = fmt.Sprintf(`device=~"dev-0%d[0-9][0-9]"`, i%10)
	}
	selector, root := `temperature{stream="bench",`+device+"}", "/prometheus"
	if victoria {
		selector, root = "bench_temperature{"+device+"}", ""
	}
	return fmt.Sprintf("%s/api/v1/query_range?nocache=1&query=%s&start=%d&end=%d&step=%d", root, url.QueryEscape(fmt.Sprintf(q.text, selector)),
		end.Add(q.step-24*time.Hour).Unix(), end.Unix(), int(q.step.Seconds()))
}

// promql compares the time of PromQL queries in Varve and in VictoriaMetrics. Both have a day of readings
// of 1,000 devices.
func (b *bench) promql() error {
	binary, err := exec.LookPath("victoria-metrics")
	if err != nil {
		fmt.Println("Not compared with VictoriaMetrics: victoria-metrics is not in PATH (Debian has a package victoria-metrics).")
		return nil //nolint:nilerr // the other parts do not need it
	}
	bodies := day(line, "", b.end.Add(-24*time.Hour))
	figures := make([][]float64, 3*len(promQueries))
	for range b.rounds {
		var both [2][]float64
		for i, p := range []*peer{b.varvePeer(), victoriaPeer(binary)} {
			if both[i], err = b.measurePromQL(p, i == 1, bodies); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		for i := range promQueries {
			for j, v := range []float64{both[0][i], both[1][i], both[0][i] / both[1][i]} {
				figures[3*i+j] = append(figures[3*i+j], v)
			}
		}
	}
	for i := range promQueries {
		b.out.median("PromQL, "+promQueries[i].name+", p50 ms: Varve", figures[3*i], "")
		b.out.median("… VictoriaMetrics", figures[3*i+1], "")
		b.out.median("… ratio", figures[3*i+2], "")
	}
	return nil
}

// measurePromQL starts a peer in a new folder, and returns the median time of each query.
func (b *bench) measurePromQL(p *peer, victoria bool, bodies [][]byte) (p50 []float64, err error) {
	dir := b.folder("promql")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	s, err := p.start(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if _, err = sendTo(s.addr, linePath, "text/plain", bodies, 4, func([]byte) error { return nil }); err != nil {
		return nil, err
	}
	time.Sleep(5 * time.Second) // VictoriaMetrics makes readings visible after a second, and both peers merge their data
	for i := range promQueries {
		q := &promQueries[i]
		middle, _, err := askFor(s.addr, q.requests, func(i int) string { return q.target(i, victoria, b.end) }, `"values"`, q.series)
		if err != nil {
			return nil, err
		}
		p50 = append(p50, middle)
	}
	return p50, nil
}
