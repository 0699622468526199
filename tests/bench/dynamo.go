package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

const (
	dynamoConns = 32
	dynamoLive  = 6000 // number of readings in one measurement
)

// onDynamo is the store on an emulator, with an engine over it.
type onDynamo struct {
	*bench
	emulator *dynamotest.Process
	client   *dynamodb.Client
	store    *dynamo.Store
	engine   *engine.Engine
	bareRate float64 // readings per second of a loop that uses only the SDK
}

// dynamo measures the store on DynamoDB, first on Dynoxide, a fast emulator. Then it measures only
// writes on Amazon's emulator. On both, it compares live writes with live writes of the bare SDK.
func (b *bench) dynamo() error {
	if err := b.dynamoOn(dynamotest.Dynoxide, (*onDynamo).live, (*onDynamo).upload, (*onDynamo).reads, (*onDynamo).naive); err != nil {
		return err
	}
	return b.dynamoOn(dynamotest.Local, (*onDynamo).live, (*onDynamo).upload)
}

func (b *bench) dynamoOn(e dynamotest.Emulator, parts ...func(*onDynamo, context.Context) error) (err error) {
	p, err := e.Run()
	if err != nil {
		return err
	}
	defer p.Stop()
	fmt.Printf("\non %s\n", e.Name)
	ctx := context.Background()
	d := &onDynamo{bench: b, emulator: p, client: dynamotest.Client(p.URL)}
	// The store uses the same HTTP client as varve serve. The designs without Varve use d.client, with the
	// default of the SDK.
	client := dynamodb.New(d.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = dynamo.HTTPClient() })
	if d.store, err = dynamo.Open(ctx, dynamo.Options{Client: client, Registry: "bench_registry"}); err != nil {
		return err
	}
	d.engine, err = engine.Open(ctx, engine.Options{
		Store: d.store, Parallel: 16, Layouts: map[string]store.Layout{"uploads": {RowWindow: time.Hour}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.engine.Close()) }()
	for _, part := range parts {
		if err := part(d, ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *sensor) reading(stream string, at time.Time) varve.Reading {
	s.advance()
	tenths := func(v int) varve.Value { return varve.NumberValue(decimal.FromScaled(int64(v), -1)) }
	return varve.Reading{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: stream, Device: s.name}, Time: at,
		Fields: []varve.Field{
			{Name: "temperature", Value: tenths(s.temperature)}, {Name: "humidity", Value: tenths(s.hum)}, {Name: "battery", Value: varve.IntValue(int64(s.battery))},
		},
	}
}

// each calls the function "do" for each number from 0 to n-1, in dynamoConns goroutines. It returns the
// number of calls per second, and the processor time of a call in microseconds.
func each(n int, do func(i int) error) (rate, cpu float64, err error) {
	return eachOf(dynamoConns, n, do)
}

// eachOf is like each, but with the given number of goroutines.
func eachOf(conns, n int, do func(i int) error) (rate, cpu float64, err error) {
	var next atomic.Int64
	var failed atomic.Value
	var wg sync.WaitGroup
	begin, before := time.Now(), processTime()
	for range conns {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					failed.Store(err)
				}
			}
		})
	}
	wg.Wait()
	if err, ok := failed.Load().(error); ok {
		return 0, 0, err
	}
	return float64(n) / time.Since(begin).Seconds(), float64((processTime() - before).Microseconds()) / float64(n), nil
}

// processTime returns the processor time that this process has used so far, or 0 if it is unknown.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// submit sends readings through the router, as a request does.
func (d *onDynamo) submit(ctx context.Context, readings []varve.Reading) error {
	q, err := d.engine.Router.Admit()
	if err != nil {
		return err
	}
	defer q.Done()
	verdicts := make([]varve.Verdict, len(readings))
	if err := q.Write(ctx, readings, verdicts); err != nil {
		return err
	}
	for _, v := range verdicts {
		if v.Outcome != varve.Stored {
			return fmt.Errorf("a reading is not stored: %s", v)
		}
	}
	return nil
}

// live measures writes of single readings with distinct timestamps. For comparison, it also measures a
// loop that calls UpdateItem of the SDK.
func (d *onDynamo) live(ctx context.Context) error {
	table := "bench_bare"
	if err := d.plainTable(ctx, table, types.ScalarAttributeTypeN); err != nil {
		return err
	}
	var rates, bares, ratios, cpus, bareCPUs []float64
	before := d.store.Usage()
	for round := range d.bench.rounds {
		at := d.end.Add(-time.Duration(round+1) * time.Hour)
		sensors := make([]*sensor, dynamoLive)
		for i := range sensors {
			sensors[i] = newSensor(i, fmt.Sprintf("live-%04d", i%devices))
		}
		bare, bareCPU, err := each(dynamoLive, func(i int) error {
			return d.bare(ctx, table, sensors[i].reading("live", at.Add(time.Duration(i)*time.Millisecond)))
		})
		if err != nil {
			return err
		}
		rate, cpu, err := each(dynamoLive, func(i int) error {
			return d.submit(ctx, []varve.Reading{sensors[i].reading("live", at.Add(time.Duration(i)*time.Millisecond))})
		})
		if err != nil {
			return err
		}
		rates, bares, ratios = append(rates, rate), append(bares, bare), append(ratios, rate/bare)
		cpus, bareCPUs = append(cpus, cpu), append(bareCPUs, bareCPU)
	}
	slices.Sort(bares)
	d.bareRate = bares[len(bares)/2]
	after := d.store.Usage()
	n := float64(dynamoLive * d.bench.rounds)
	d.out.line("DynamoDB, live: requests", float64(after.Writes.Requests-before.Writes.Requests)/n, "a reading")
	d.out.line("DynamoDB, live: write units", (after.Writes.Units-before.Writes.Units)/n, "a reading")
	d.out.median("DynamoDB, live: one by one, 32 at a time", rates, "readings/s")
	d.out.median("DynamoDB, live: a bare loop of UpdateItem", bares, "requests/s")
	d.out.median("DynamoDB, live: Varve's share of that", ratios, "")
	d.out.median("DynamoDB, live: processor time", cpus, "µs/reading")
	d.out.median("DynamoDB, live: processor time of the bare loop", bareCPUs, "µs/request")
	return nil
}

// bare writes a reading as a plain item with its timestamp.
func (d *onDynamo) bare(ctx context.Context, table string, r varve.Reading) error {
	number := func(v varve.Value) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: v.Number().String()}
	}
	_, err := d.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(table),
		Key: map[string]types.AttributeValue{
			"series": &types.AttributeValueMemberS{Value: r.Series.String()},
			"ts":     &types.AttributeValueMemberN{Value: strconv.FormatInt(r.Time.UnixMilli(), 10)},
		},
		UpdateExpression: aws.String("SET temperature=:t, humidity=:h, battery=:b"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":t": number(r.Fields[0].Value), ":h": number(r.Fields[1].Value), ":b": number(r.Fields[2].Value),
		},
	})
	return err
}

// plainTable creates a DynamoDB table for the writes with which Varve is compared.
func (d *onDynamo) plainTable(ctx context.Context, name string, sortKey types.ScalarAttributeType) error {
	_, err := d.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("series"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("ts"), AttributeType: sortKey},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("series"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("ts"), KeyType: types.KeyTypeRange},
		},
	})
	return err
}

// upload measures a device that uploads the readings of 30 days, with one reading for each minute.
// Its row window is an hour.
func (d *onDynamo) upload(ctx context.Context) error {
	var rates, cpus []float64
	before := d.store.Usage()
	for round := range d.bench.rounds {
		s := newSensor(round, fmt.Sprintf("late-%02d", round))
		readings := make([]varve.Reading, upEach)
		for i := range readings {
			readings[i] = s.reading("uploads", d.end.Add(time.Duration(i-upEach)*time.Minute))
		}
		begin, cpu := time.Now(), processTime()
		for at := 0; at < upEach; at += batchOf {
			if err := d.submit(ctx, readings[at:min(at+batchOf, upEach)]); err != nil {
				return err
			}
		}
		rates = append(rates, upEach/time.Since(begin).Seconds())
		cpus = append(cpus, float64((processTime()-cpu).Microseconds())/upEach)
	}
	after := d.store.Usage()
	n := float64(upEach * d.bench.rounds)
	d.out.line("DynamoDB, 30 days uploaded in rows of an hour: requests", float64(after.Writes.Requests-before.Writes.Requests)/n, "a reading")
	d.out.line("DynamoDB, 30 days uploaded in rows of an hour: write units", (after.Writes.Units-before.Writes.Units)/n, "a reading")
	d.out.median("DynamoDB, 30 days uploaded in rows of an hour", rates, "readings/s")
	d.out.line("DynamoDB, 30 days uploaded in rows of an hour: readings for each request of the bare loop", rates[len(rates)/2]/d.bareRate, "")
	d.out.median("DynamoDB, 30 days uploaded in rows of an hour: processor time", cpus, "µs/reading")
	return nil
}

func (d *onDynamo) reads(ctx context.Context) error {
	s := newSensor(1, "day")
	var readings []varve.Reading
	for m := range minutes {
		readings = append(readings, s.reading("live", d.end.Add(time.Duration(m-minutes)*time.Minute)))
	}
	if err := d.submit(ctx, readings); err != nil {
		return err
	}
	for _, c := range []struct{ what, stream, device string }{
		{"rows of a millisecond", "live", "day"}, {"rows of an hour", "uploads", "late-00"},
	} {
		series := varve.Series{Tenant: varve.DefaultTenant, Stream: c.stream, Device: c.device}
		rows, err := d.engine.Query.Open(ctx, query.Query{Series: series, Window: varve.Window{From: d.end.Add(-24 * time.Hour), To: d.end}})
		if err != nil {
			return err
		}
		n, err := drain(ctx, rows)
		if err != nil || n != minutes {
			return fmt.Errorf("%d readings of a day: %w", n, err)
		}
		cost := rows.Cost()
		d.out.line("DynamoDB, 24 h of a device, "+c.what+": requests", float64(cost.Requests), "")
		d.out.line("DynamoDB, 24 h of a device, "+c.what+": read units", cost.Units, "")
		last, err := d.engine.Query.Latest(ctx, query.LatestQuery{Series: series, By: varve.ByEvent})
		if err != nil || !last.Found {
			return fmt.Errorf("latest of %s: %v, %w", c.device, last.Found, err)
		}
		d.out.line("DynamoDB, latest of a device, "+c.what+": requests", float64(last.Cost.Requests), "")
		d.out.line("DynamoDB, latest of a device, "+c.what+": read units", last.Cost.Units, "")
	}
	return nil
}

func drain(ctx context.Context, rows *query.Rows) (n int, err error) {
	defer rows.Close()
	for {
		some, err := rows.Next(ctx)
		if err != nil || len(some) == 0 {
			return n, err
		}
		n += len(some)
	}
}

// tableOf returns the table for readings that have the given event time and arrive in the current month.
func tableOf(prefix string, at time.Time) grid.Table {
	month := grid.MonthOf(time.Now())
	r, _ := grid.DefaultPolicy().Locate(at, month)
	return grid.Table{Prefix: prefix, Range: r, Month: month}
}
