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

// Each reading gets a verdict. Sending the same readings again is harmless.
func ExampleClient_WriteReadings() {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Options{Store: mem.New(time.Now)})
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
	readings := []varve.Reading{{
		Series: varve.Series{Stream: "weather", Device: "sensor_01"},
		Time:   time.Now(),
		Fields: []varve.Field{{Name: "door", Value: varve.StringValue("open")}},
	}}
	for range 2 {
		answer, err := c.WriteReadings(ctx, "weather", readings)
		if err != nil {
			fmt.Print(err)
			return
		}
		fmt.Println(answer.Stored, "stored,", answer.Duplicates, "duplicates")
	}
	// Output:
	// 1 stored, 0 duplicates
	// 0 stored, 1 duplicates
}
