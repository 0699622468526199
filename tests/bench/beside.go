package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"time"
)

// peer is a server of the comparison in beside: Varve or VictoriaMetrics. Both accept line protocol
// at the same path.
type peer struct {
	name                     string
	start                    func(dir string) (*server, error)
	dayOf, latestOf, hoursOf func(device string, from, to time.Time) string
	// An answer to dayOf must contain the text inDay exactly days times. The same holds for latestOf,
	// inLatest and latest, and for hoursOf, inHours and hours.
	inDay, inLatest, inHours string
	days, latest, hours      int
}

const linePath = "/write?db=bench&precision=ms"

func (b *bench) varvePeer() *peer {
	target := func(format string) func(device string, from, to time.Time) string {
		return func(device string, from, to time.Time) string {
			return "/v1/streams/bench/devices/" + device + fmt.Sprintf(format, from.UnixMilli(), to.UnixMilli())
		}
	}
	return &peer{
		name:  "Varve",
		start: func(dir string) (*server, error) { return start(b.binary, dir) },
		dayOf: target("/readings?from=%d&to=%d"), inDay: `"arrived"`, days: minutes,
		latestOf: func(device string, _, _ time.Time) string { return "/v1/streams/bench/devices/" + device + "/latest" }, inLatest: `"arrived"`, latest: 1,
		hoursOf: target("/rollups?period=hourly&fields=temperature&from=%d&to=%d"), inHours: `"mean"`, hours: 24,
	}
}

// victoriaPeer returns VictoriaMetrics, with queries that correspond to Varve's queries.
func victoriaPeer(binary string) *peer {
	seconds := func(t time.Time) string { return fmt.Sprintf("%d.%03d", t.Unix(), t.Nanosecond()/1e6) }
	return &peer{
		name: "VictoriaMetrics",
		start: func(dir string) (*server, error) {
			return startProgram(dir, "/health", nil, func(addr string) *exec.Cmd {
				return exec.Command(binary, "-storageDataPath="+dir, "-retentionPeriod=10y", "-httpListenAddr="+addr, "-loggerLevel=ERROR")
			})
		},
		dayOf: func(device string, from, to time.Time) string {
			return fmt.Sprintf("/api/v1/export?match[]=%s&start=%s&end=%s", url.QueryEscape(`{device="`+device+`"}`), seconds(from), seconds(to.Add(-time.Millisecond)))
		},
		inDay: `"values"`, days: 3,
		latestOf: func(device string, _, to time.Time) string {
			return fmt.Sprintf("/api/v1/query?nocache=1&query=%s&time=%s", url.QueryEscape(`{device="`+device+`"}`), seconds(to))
		},
		inLatest: `"value"`, latest: 3,
		hoursOf: func(device string, from, to time.Time) string {
			return fmt.Sprintf("/api/v1/query_range?nocache=1&query=%s&start=%s&end=%s&step=3600",
				url.QueryEscape(`rollup(bench_temperature{device="`+device+`"}[1h])`), seconds(from.Add(time.Hour)), seconds(to))
		},
		inHours: `"values"`, hours: 3,
	}
}

// besideFigures are the figures of one round, in the order of besideNames.
type besideFigures [7]float64

var besideNames = [7]string{
	"line protocol, a day of 1,000 devices, readings/s", "line protocol, 20 uploads of 30 days, readings/s", "server's processor time of the day, µs/reading",
	"24 h of a device, p50 ms", "latest of a device, p50 ms", "hourly means of a day, p50 ms", "memory at its peak, MiB",
}

// beside compares Varve with VictoriaMetrics. In each round, it measures one after the other. Both
// receive the same lines. VictoriaMetrics does not sync its data before it answers.
func (b *bench) beside() error {
	binary, err := exec.LookPath("victoria-metrics")
	if err != nil {
		fmt.Println("Not compared with VictoriaMetrics: victoria-metrics is not in PATH (Debian has a package victoria-metrics).")
		return nil //nolint:nilerr // the other parts do not need it
	}
	dayBodies := day(line, "", b.end.Add(-24*time.Hour))
	var late [][]byte
	for i := range uploads {
		late = append(late, backlog(line, "", i, b.end)...)
	}
	peers := []*peer{b.varvePeer(), victoriaPeer(binary)}
	figures := make([][]float64, 3*len(besideNames))
	for range b.rounds {
		var both [2]besideFigures
		for i, p := range peers {
			if both[i], err = b.measurePeer(p, dayBodies, late); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		for i := range besideNames {
			for j, v := range []float64{both[0][i], both[1][i], both[0][i] / both[1][i]} {
				figures[3*i+j] = append(figures[3*i+j], v)
			}
		}
	}
	for i, what := range besideNames {
		b.out.median(what+": Varve", figures[3*i], "")
		b.out.median("… VictoriaMetrics", figures[3*i+1], "")
		b.out.median("… ratio", figures[3*i+2], "")
	}
	return nil
}

// measurePeer starts a peer in a new folder, and measures writes and queries.
func (b *bench) measurePeer(p *peer, dayBodies, late [][]byte) (f besideFigures, err error) {
	dir := b.folder("beside")
	if err := os.RemoveAll(dir); err != nil {
		return f, err
	}
	s, err := p.start(dir)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	accepted := func(answer []byte) error {
		if len(bytes.TrimSpace(answer)) > 0 {
			return fmt.Errorf("not all readings were stored: %.200s", answer)
		}
		return nil
	}
	took, err := sendTo(s.addr, linePath, "text/plain", dayBodies, 4, accepted)
	if err != nil {
		return f, err
	}
	f[0], f[2] = dayTotal/took.Seconds(), float64(s.cpu().Microseconds())/dayTotal
	if took, err = sendTo(s.addr, linePath, "text/plain", late, 4, accepted); err != nil {
		return f, err
	}
	f[1] = upTotal / took.Seconds()
	time.Sleep(2 * time.Second) // VictoriaMetrics makes readings visible after a second
	from := b.end.Add(-24 * time.Hour)
	for i, q := range []struct {
		target func(device string, from, to time.Time) string
		what   string
		want   int
	}{{p.dayOf, p.inDay, p.days}, {p.latestOf, p.inLatest, p.latest}, {p.hoursOf, p.inHours, p.hours}} {
		target := func(i int) string { return q.target(fmt.Sprintf("dev-%04d", i*37%devices), from, b.end) }
		if f[3+i], _, err = askFor(s.addr, 1000, target, q.what, q.want); err != nil {
			return f, err
		}
	}
	_, peak, err := s.memory()
	f[6] = float64(peak)
	return f, err
}
