package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Every design gets the same input: readings that share some timestamps, from a client that retries
// after a lost answer.
const (
	naiveReadings = 5000
	naiveShared   = 10 // on average, one in this many readings has the timestamp of the previous one
	naiveRetried  = 20 // on average, one in this many readings is sent twice
)

// design is a way to store readings in DynamoDB: Varve, or a simpler one for comparison.
type design struct {
	name  string
	table string
	put   func(ctx context.Context, r *varve.Reading) (units float64, err error)
}

// naive compares the costs of designs, and their lost or duplicate readings.
func (d *onDynamo) naive(ctx context.Context) error {
	s := newSensor(3, "naive")
	var readings []varve.Reading
	at := d.end.Add(-24 * time.Hour)
	rng := rand.New(rand.NewPCG(5, 6))
	for range naiveReadings {
		if rng.IntN(naiveShared) > 0 || len(readings) == 0 {
			at = at.Add(time.Second)
		}
		r := s.reading("naive", at)
		// The field n has a different value in each reading.
		r.Fields = append(r.Fields, varve.Field{Name: "n", Value: varve.IntValue(int64(len(readings)))})
		readings = append(readings, r)
	}
	for _, name := range []string{"bench_item", "bench_suffix"} {
		if err := d.plainTable(ctx, name, types.ScalarAttributeTypeS); err != nil {
			return err
		}
	}
	varveTable := tableOf("naive", at)
	if err := d.store.Create(ctx, varveTable, store.Hot); err != nil {
		return err
	}
	designs := []design{
		{"item per timestamp (PutItem)", "bench_item", func(ctx context.Context, r *varve.Reading) (float64, error) {
			return d.putItem(ctx, "bench_item", r.Time.UTC().Format(time.RFC3339), r)
		}},
		{"timestamp and random suffix", "bench_suffix", func(ctx context.Context, r *varve.Reading) (float64, error) {
			return d.putItem(ctx, "bench_suffix", fmt.Sprintf("%s#%016x", r.Time.UTC().Format(time.RFC3339), rng.Uint64()), r)
		}},
		{"Varve", varveTable.Name(), func(ctx context.Context, r *varve.Reading) (float64, error) {
			return 0, d.submitTo(ctx, store.Batch{Table: varveTable, Readings: []varve.Reading{*r}})
		}},
	}
	for _, one := range designs {
		if err := d.try(ctx, one, readings); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// submitTo writes a batch directly to the store, without the router.
func (d *onDynamo) submitTo(ctx context.Context, b store.Batch) error {
	for i := range b.Readings {
		b.Readings[i].Arrived = time.Now().Truncate(time.Millisecond)
		if v := b.Readings[i].Normalize(); v.Outcome == varve.Rejected {
			return fmt.Errorf("%s", v)
		}
	}
	res := d.store.Write(ctx, []store.Batch{b})[0]
	if res.Err != nil {
		return res.Err
	}
	for _, v := range res.Verdicts {
		if v.Outcome == varve.Rejected {
			return fmt.Errorf("%s", v)
		}
	}
	return nil
}

// putItem writes a reading as one item, as the designs other than Varve do. The sort key sk depends on the
// design.
func (d *onDynamo) putItem(ctx context.Context, table, sk string, r *varve.Reading) (float64, error) {
	item := map[string]types.AttributeValue{
		"series": &types.AttributeValueMemberS{Value: r.Series.String()},
		"ts":     &types.AttributeValueMemberS{Value: sk},
		"ttl":    &types.AttributeValueMemberN{Value: fmt.Sprint(r.Time.Add(30 * 24 * time.Hour).Unix())},
	}
	for _, f := range r.Fields {
		item[f.Name] = &types.AttributeValueMemberN{Value: f.Value.Number().String()}
	}
	out, err := d.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(table), Item: item, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return 0, err
	}
	return aws.ToFloat64(out.ConsumedCapacity.CapacityUnits), nil
}

// try writes the readings with a design, and counts the stored ones.
func (d *onDynamo) try(ctx context.Context, one design, readings []varve.Reading) error {
	rng := rand.New(rand.NewPCG(7, 8))
	requests, units := 0.0, 0.0
	before := d.store.Usage()
	for i := range readings {
		for range 1 + max(0, 1-rng.IntN(naiveRetried)) {
			u, err := one.put(ctx, &readings[i])
			if err != nil {
				return err
			}
			requests, units = requests+1, units+u
		}
	}
	if after := d.store.Usage(); after != before { // the design is Varve, and its store has counted the requests
		requests, units = float64(after.Writes.Requests-before.Writes.Requests), after.Writes.Units-before.Writes.Units
	}
	there, distinct, bytes, err := d.count(ctx, one.table)
	if err != nil {
		return err
	}
	n := float64(len(readings))
	d.out.line(one.name+": requests", requests/n, "a reading")
	d.out.line(one.name+": write units", units/n, "a reading")
	d.out.line(one.name+": bytes, as DynamoDB counts them", bytes/float64(there), "a reading")
	d.out.line(one.name+": lost to equal timestamps", n-float64(distinct), fmt.Sprintf("of %d", len(readings)))
	d.out.line(one.name+": duplicates after retries", float64(there-distinct), "")
	return nil
}

// halfUnitBytes is the size that half a read unit covers in an eventually consistent scan.
const halfUnitBytes = 4 << 10

// count returns the number of readings in a table, and the number of distinct ones. It also returns
// their size in bytes, computed from the billed read units.
func (d *onDynamo) count(ctx context.Context, table string) (there, distinct int, bytes float64, err error) {
	seen := map[string]bool{}
	note := func(av types.AttributeValue) {
		if n, ok := av.(*types.AttributeValueMemberN); ok {
			seen[n.Value] = true
			there++
		}
	}
	in := &dynamodb.ScanInput{TableName: aws.String(table), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for {
		out, err := d.client.Scan(ctx, in)
		if err != nil {
			return 0, 0, 0, err
		}
		bytes += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits) * 2 * halfUnitBytes
		for _, item := range out.Items {
			switch av := item["n"].(type) {
			case *types.AttributeValueMemberM:
				for _, member := range av.Value {
					note(member)
				}
			default:
				note(av)
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return there, len(seen), bytes, nil
		}
	}
}
