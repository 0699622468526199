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
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

// A device has one reading a minute for a day, and its server lacks one of them. Only the readings of one
// hour are resent.
func ExampleClient_WriteMissing() {
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
		Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store, Now: e.Now, Metrics: prometheus.NewRegistry(),
	}))
	defer server.Close()
	c, err := client.New(server.URL)
	if err != nil {
		fmt.Print(err)
		return
	}

	var readings []varve.Reading
	for minute := range 24 * 60 {
		r := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "sensor_01"}, Time: noon.Add(time.Duration(minute-24*60) * time.Minute),
			Fields: []varve.Field{{Name: "temperature", Value: varve.IntValue(20)}},
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			fmt.Print(v)
			return
		}
		readings = append(readings, r)
	}
	if _, err := c.WriteReadings(ctx, "weather", append(readings[:300:300], readings[301:]...)); err != nil {
		fmt.Print(err)
		return
	}
	for range 2 {
		sent, answer, err := c.WriteMissing(ctx, "weather", "sensor_01", readings)
		if err != nil {
			fmt.Print(err)
			return
		}
		fmt.Println(sent, "sent,", answer.Stored, "stored")
	}
	// Output:
	// 60 sent, 1 stored
	// 0 sent, 0 stored
}
