package cloudwatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"github.com/varvedb/varve/cloudwatch"
	"github.com/varvedb/varve/rotator"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// published is a line as CloudWatch reads it, with the values of the declared metrics.
type published struct {
	at     time.Time
	values map[string]float64
}

func parse(t *testing.T, line string) published {
	t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &doc); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	var head struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	}
	if err := json.Unmarshal(doc["_aws"], &head); err != nil {
		t.Fatal(err)
	}
	if len(head.CloudWatchMetrics) != 1 {
		t.Fatalf("%d directives", len(head.CloudWatchMetrics))
	}
	d := head.CloudWatchMetrics[0]
	if d.Namespace != "Varve" || len(d.Dimensions) != 1 || len(d.Dimensions[0]) != 1 || d.Dimensions[0][0] != "Deployment" {
		t.Fatalf("namespace %s, dimensions %v", d.Namespace, d.Dimensions)
	}
	if string(doc["Deployment"]) != `"weather"` {
		t.Fatalf("deployment %s", doc["Deployment"])
	}
	got := published{time.UnixMilli(head.Timestamp).UTC(), map[string]float64{}}
	for _, m := range d.Metrics {
		var v float64
		if err := json.Unmarshal(doc[m.Name], &v); err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		got.values[m.Name] = v
	}
	if extra := len(doc) - 2 - len(got.values); extra != 0 {
		t.Fatalf("%d values that are not declared: %s", extra, line)
	}
	return got
}

func lines(out *bytes.Buffer) []string {
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestPublish_WritesMetricsOnce(t *testing.T) {
	begin := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	now, health, backlog := begin, rotator.Health{}, 0.0
	failed, oldest := int64(0), time.Time{}
	var out bytes.Buffer
	p := cloudwatch.New(cloudwatch.Options{
		Out: &out, Deployment: "weather", Now: func() time.Time { return now },
		Health: func() rotator.Health { return health }, Backlog: func() float64 { return backlog },
		Deliveries: func() (int64, time.Time) { return failed, oldest },
	})
	steps := []struct {
		why  string
		do   func()
		want map[string]float64
	}{
		{"nothing has happened yet", func() {}, map[string]float64{
			"RotationSuccess": 0, "Readings": 0, "ReadingsRejected": 0, "RollupBacklog": 0}},
		{"a rotation that made all, and readings", func() {
			health = rotator.Health{LastSuccess: now, LastRun: now, Ahead: rotator.TableCount{Existing: 21, Wanted: 21}}
			p.Judged(10, 1)
			p.Judged(5, 2)
		}, map[string]float64{"RotationSuccess": 1, "TablesReadyAhead": 1, "Readings": 15, "ReadingsRejected": 3, "RollupBacklog": 0}},
		{"each is published once", func() {}, map[string]float64{
			"RotationSuccess": 0, "Readings": 0, "ReadingsRejected": 0, "RollupBacklog": 0}},
		{"a rotation that failed half way", func() {
			health.LastRun, health.Ahead.Existing, health.LastError = now, 7, "no"
			backlog = 12
		}, map[string]float64{"RotationSuccess": 0, "TablesReadyAhead": 1.0 / 3, "Readings": 0, "ReadingsRejected": 0, "RollupBacklog": 12}},
		{"more than is needed is enough", func() {
			health.LastRun, health.LastSuccess, health.Ahead.Existing = now, now, 30
		}, map[string]float64{"RotationSuccess": 1, "TablesReadyAhead": 1, "Readings": 0, "ReadingsRejected": 0, "RollupBacklog": 12}},
		{"messages that failed, and one that waits", func() {
			failed, oldest = 3, now.Add(-90*time.Second)
		}, map[string]float64{"RotationSuccess": 0, "Readings": 0, "ReadingsRejected": 0, "RollupBacklog": 12, "DeliveriesFailed": 3, "DeliveryAge": 90}},
		{"one more failed", func() { failed, oldest = 4, time.Time{} }, map[string]float64{
			"RotationSuccess": 0, "Readings": 0, "ReadingsRejected": 0, "RollupBacklog": 12, "DeliveriesFailed": 1}},
	}
	for i, s := range steps {
		now = begin.Add(time.Duration(i) * time.Minute)
		s.do()
		if err := p.Publish(); err != nil {
			t.Fatal(err)
		}
		got := parse(t, lines(&out)[i])
		if !got.at.Equal(now) {
			t.Errorf("%s: at %s, want %s", s.why, got.at, now)
		}
		for _, name := range []string{cloudwatch.DeliveriesFailed, cloudwatch.DeliveryAge} {
			s.want[name] += 0 // a metric that the step does not name must be 0
		}
		if !maps.Equal(got.values, s.want) {
			t.Errorf("%s: %v, want %v", s.why, got.values, s.want)
		}
	}
}

// TestRun_PublishesAtEachTick expects a line at each tick, and one at the end with the counts
// since the last tick.
func TestRun_PublishesAtEachTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := cloudwatch.New(cloudwatch.Options{
			Out: &out, Deployment: "weather", Now: time.Now, Health: func() rotator.Health { return rotator.Health{} },
		})
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		tick := time.NewTicker(cloudwatch.Every)
		defer tick.Stop()
		time.AfterFunc(130*time.Second, func() { p.Judged(4, 1) })
		if err := p.Run(ctx, tick.C); err != nil {
			t.Fatal(err)
		}
		all := lines(&out)
		if len(all) != 3 {
			t.Fatalf("%d lines in 150 seconds, want those of 2 minutes and the last", len(all))
		}
		if got := parse(t, all[2]).values[cloudwatch.Readings]; got != 4 {
			t.Errorf("the last line counts %v readings, want 4", got)
		}
	})
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestRun_ReturnsWriteError(t *testing.T) {
	p := cloudwatch.New(cloudwatch.Options{Out: full{}, Deployment: "weather", Now: time.Now, Health: func() rotator.Health { return rotator.Health{} }})
	tick := make(chan time.Time, 1)
	tick <- time.Time{}
	if err := p.Run(t.Context(), tick); !errors.Is(err, errFull) {
		t.Fatalf("got %v", err)
	}
}
