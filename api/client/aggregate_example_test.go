package client_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

// Each value of an aggregate is a JSON number with all its digits.
func ExampleClient_Aggregate() {
	ctx := context.Background()
	noon := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return noon }
	e, err := engine.Open(ctx, engine.Options{Store: mem.New(now), Now: now})
	if err != nil {
		fmt.Print(err)
		return
	}
	defer func() { _ = e.Close() }()
	server := httptest.NewServer(api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams,
		Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store, Rollups: e.Rollups, Aggregator: e.Aggregator, Now: e.Now, Metrics: prometheus.NewRegistry(),
	}))
	defer server.Close()
	c, err := client.New(server.URL)
	if err != nil {
		fmt.Print(err)
		return
	}

	var readings []varve.Reading
	for minute := range 10 {
		readings = append(readings, varve.Reading{
			Series: varve.Series{Stream: "weather", Device: "sensor_01"}, Time: noon.Add(time.Duration(minute-10) * time.Minute),
			Fields: []varve.Field{{Name: "temperature", Value: varve.NumberValue(decimal.FromScaled(int64(214+minute), -1))}},
		})
	}
	if _, err := c.WriteReadings(ctx, "weather", readings); err != nil {
		fmt.Print(err)
		return
	}
	answer, err := c.Aggregate(ctx, client.AggregateQuery{
		Stream: "weather", Device: "sensor_01", During: "2026-11-18", Step: "5m", Functions: []string{"mean", "p90"},
	})
	if err != nil {
		fmt.Print(err)
		return
	}
	for _, b := range answer.Buckets {
		t := b.Fields["temperature"]
		fmt.Printf("%s mean %s, p90 %s\n", b.Start, t["mean"], t["p90"])
	}
	// Output:
	// 2026-11-18T11:50:00Z mean 21.6, p90 21.76
	// 2026-11-18T11:55:00Z mean 22.1, p90 22.26
}
