package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

const bareReadings = 30000 // number of readings in one measurement

// scaleBare compares writes through Varve's router with a loop of the SDK. Both run in this process, and
// the loop sends the same items with the same condition.
func (b onStandIn) scaleBare(sim *standIn) (err error) {
	ctx := context.Background()
	client := dynamodb.New(dynamotest.Client(sim.url).Options(), func(o *dynamodb.Options) { o.HTTPClient = dynamo.HTTPClient() })
	d := &onDynamo{bench: b.bench, client: client}
	if d.store, err = dynamo.Open(ctx, dynamo.Options{Client: client, Registry: "scalebare_registry"}); err != nil {
		return err
	}
	if d.engine, err = engine.Open(ctx, engine.Options{Store: d.store, Parallel: 16}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.engine.Close()) }()
	if err := d.plainTable(ctx, "scalebare_loop", types.ScalarAttributeTypeN); err != nil {
		return err
	}
	var rates, bares, ratios, cpus, bareCPUs, cpuRatios []float64
	for round := -1; round < b.rounds; round++ { // round -1 creates the tables and warms up, and is not measured
		if err := errors.Join(sim.warm("varve"), sim.warm("scalebare")); err != nil {
			return err
		}
		at := d.end.Add(-time.Duration(round+2) * time.Hour)
		sensors := make([]*sensor, bareReadings)
		for i := range sensors {
			sensors[i] = newSensor(i, fmt.Sprintf("live-%04d", i%devices))
		}
		reading := func(i int) varve.Reading {
			return sensors[i].reading("live", at.Add(time.Duration(i)*time.Millisecond))
		}
		bare, bareCPU, err := eachOf(scaleConns, bareReadings, func(i int) error { return d.sameItem(ctx, reading(i)) })
		if err != nil {
			return err
		}
		rate, cpu, err := eachOf(scaleConns, bareReadings, func(i int) error { return d.submit(ctx, []varve.Reading{reading(i)}) })
		if err != nil {
			return err
		}
		if round < 0 {
			continue
		}
		rates, bares, ratios = append(rates, rate), append(bares, bare), append(ratios, rate/bare)
		cpus, bareCPUs, cpuRatios = append(cpus, cpu), append(bareCPUs, bareCPU), append(cpuRatios, bareCPU/cpu)
	}
	b.out.median("in one process with the load: live", rates, "readings/s")
	b.out.median("in one process with the load: the same items by a bare loop", bares, "requests/s")
	b.out.median("Varve's share of the bare loop's rate", ratios, "")
	b.out.median("processor time: live", cpus, "µs/reading")
	b.out.median("processor time: the bare loop", bareCPUs, "µs/request")
	b.out.median("the bare loop's share of Varve's processor time", cpuRatios, "")
	return nil
}

// sameItem writes one reading as an item with the attributes of Varve's row, with PutItem. The condition
// of the request is that the item is missing.
func (d *onDynamo) sameItem(ctx context.Context, r varve.Reading) error {
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		return fmt.Errorf("%s", v)
	}
	key := r.ID.String()
	ofKey := func(v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{key: v}}
	}
	item := map[string]types.AttributeValue{
		"series": &types.AttributeValueMemberS{Value: r.Series.String()},
		"ts":     &types.AttributeValueMemberN{Value: strconv.FormatInt(r.Time.UnixMilli(), 10)},
		"_ids":   &types.AttributeValueMemberSS{Value: []string{key}},
		"_at":    ofKey(&types.AttributeValueMemberN{Value: "1794830401.25"}),
	}
	for _, f := range r.Fields {
		item[f.Name] = ofKey(&types.AttributeValueMemberN{Value: f.Value.Number().String()})
	}
	_, err := d.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("scalebare_loop"), Item: item, ConditionExpression: aws.String("attribute_not_exists(series)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
	})
	return err
}
