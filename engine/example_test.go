package engine_test

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store/mem"
)

// A program can use Varve as a library: it opens an engine over a store, writes through
// the router, and reads through the query engine.
func ExampleOpen() {
	ctx := context.Background()
	noon := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return noon }
	e, err := engine.Open(ctx, engine.Options{Store: mem.New(now), Now: now})
	if err != nil {
		fmt.Print(err)
		return
	}
	defer func() { _ = e.Close() }()

	req, err := e.Router.Admit()
	if err != nil {
		fmt.Print(err)
		return
	}
	defer req.Done()
	sensor := varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "sensor_01"}
	readings := []varve.Reading{{
		Series: sensor, Time: noon.Add(-time.Hour),
		Fields: []varve.Field{{Name: "temperature", Value: varve.IntValue(22)}},
	}}
	verdicts := make([]varve.Verdict, len(readings))
	if err := req.Write(ctx, readings, verdicts); err != nil {
		fmt.Print(err)
		return
	}
	fmt.Println(verdicts[0])

	latest, err := e.Query.Latest(ctx, query.LatestQuery{Series: sensor})
	if err != nil {
		fmt.Print(err)
		return
	}
	fmt.Println(latest.Reading.Time.Format(time.TimeOnly), latest.Reading.Fields[0].Value)
	// Output:
	// stored
	// 11:00:00 22
}
