package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// nobody is a series, and the key of an item, that there is never.
const nobody = "_doctor"

// attempt is a request that shows whether an action is allowed, and does
// nothing: it asks for what is not there, or on a condition that does not hold.
type attempt struct {
	action string
	table  string
	part   string // of Varve, that needs it
	do     func() error
}

// permissions tries what can be tried without doing anything.
func (e *examiner) permissions(ctx context.Context) {
	for _, a := range e.attempts(ctx) {
		check, err := "permission "+a.action, a.do()
		var failed *types.ConditionalCheckFailedException
		var missing *types.ResourceNotFoundException
		var api smithy.APIError
		switch {
		case err == nil, errors.As(err, &failed), errors.As(err, &missing):
			e.good(check, "allowed on %s (%s)", a.table, a.part)
		case errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException":
			e.wrong(check, "attach the policy "+a.part+" of the Terraform module iam, or one like it, if this is to be a "+a.part, "not allowed on %s (%s)", a.table, a.part)
		default:
			e.failed(check, a.action, a.table, err)
		}
	}
	e.notChecked("permissions CreateTable, DeleteTable and TagResource", "trying them would make or delete tables; the rotator needs them")
}

func (e *examiner) attempts(ctx context.Context) []attempt {
	registry, there := aws.String(e.opts.Registry), aws.String("attribute_exists("+attrPK+")")
	key := itemKey(store.Key{PK: nobody, SK: nobody})
	all := []attempt{
		{"Query", e.opts.Registry, "reader", func() error {
			_, err := e.query(ctx, store.ItemQuery{PK: nobody})
			return err
		}},
		{"PutItem", e.opts.Registry, "router", func() error {
			_, err := e.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: registry, Item: key, ConditionExpression: there})
			return err
		}},
		{"BatchWriteItem", e.opts.Registry, "router", func() error { // takes away what never was
			_, err := e.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
				e.opts.Registry: {{DeleteRequest: &types.DeleteRequest{Key: key}}},
			}})
			return err
		}},
		{"DeleteItem", e.opts.Registry, "rotator", func() error {
			_, err := e.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: registry, Key: key, ConditionExpression: there})
			return err
		}},
	}
	for _, prefix := range e.prefixes {
		all = append(all, e.tableAttempts(ctx, prefix+noTable)...)
	}
	return all
}

// noTable ends a name that has the form of a time table's, so that policies are
// about it, and never is one: its range is empty.
const noTable = "_0000000000_0000000000_01_1970"

func (e *examiner) tableAttempts(ctx context.Context, name string) []attempt {
	table, key := aws.String(name), item{attrSeries: &strV{Value: nobody}, attrTS: &numV{Value: "0"}}
	return []attempt{
		{"UpdateItem", name, "router", func() error {
			_, err := e.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key, ConditionExpression: aws.String("attribute_exists(" + attrSeries + ")")})
			return err
		}},
		{"PutItem", name, "router", func() error {
			_, err := e.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key, ConditionExpression: aws.String("attribute_exists(" + attrSeries + ")")})
			return err
		}},
		{"Query", name, "reader", func() error {
			_, err := e.client.Query(ctx, &dynamodb.QueryInput{
				TableName: table, KeyConditionExpression: aws.String(attrSeries + "=:s"), Limit: aws.Int32(1),
				ExpressionAttributeValues: item{":s": &strV{Value: nobody}},
			})
			return err
		}},
		{"UpdateTable", name, "rotator", func() error {
			_, err := e.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: table, DeletionProtectionEnabled: aws.Bool(true)})
			return err
		}},
		{"UpdateTimeToLive", name, "rotator", func() error {
			_, err := e.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
				TableName:               table,
				TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attrTTL), Enabled: aws.Bool(true)},
			})
			return err
		}},
	}
}

// Quotas of an account in a region, unless it has asked for more.
const (
	tableQuota = 2500
	headRoom   = tableQuota / 5 // there should be
)

func (e *examiner) quotas(ctx context.Context) {
	all, ours, err := e.count(ctx)
	switch {
	case err != nil:
		e.failed(aboutTables, "ListTables", "*", err)
	case all > tableQuota-headRoom:
		e.wrong(aboutTables, "have the quota of tables raised (Service Quotas, Amazon DynamoDB), let tables age out with retention.drop, or use another account or region",
			"%d tables in this account and region, %d of them this deployment's, and the usual quota is %d", all, ours, tableQuota)
	default:
		e.good(aboutTables, "%d in this account and region, %d of them this deployment's; the usual quota is %d", all, ours, tableQuota)
	}
	out, err := e.client.DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{})
	if err != nil {
		e.failed(aboutUnits, "DescribeLimits", "*", err)
		return
	}
	e.units(ctx, Capacity{aws.ToInt64(out.TableMaxReadCapacityUnits), aws.ToInt64(out.TableMaxWriteCapacityUnits)})
}

// units compares the template's capacity with what a table may have.
func (e *examiner) units(ctx context.Context, most Capacity) {
	if most.Read == 0 || most.Write == 0 {
		e.notChecked(aboutUnits, "this endpoint does not say what a table may have")
		return
	}
	t, err := e.template(ctx)
	if err != nil {
		return // that has been found
	}
	settings := []Settings{t.Settings}
	for class := range t.Classes {
		settings = append(settings, t.Of(class))
	}
	for i := range settings {
		for _, tier := range tiers {
			if c := settings[i].Capacity[tier.String()]; c.Read > most.Read || c.Write > most.Write {
				e.wrong(aboutUnits, "lower capacity in the template, or have the quota raised (Service Quotas, Amazon DynamoDB)",
					"the template gives %s tables %d read and %d write units, and %d and %d are the most here", tier, c.Read, c.Write, most.Read, most.Write)
				return
			}
		}
	}
	e.good(aboutUnits, "a table may have %d read and %d write units", most.Read, most.Write)
}

// count returns how many tables there are, and how many have names of this
// deployment's time tables.
func (e *examiner) count(ctx context.Context) (all, ours int, err error) {
	in := &dynamodb.ListTablesInput{}
	for {
		out, err := e.client.ListTables(ctx, in)
		if err != nil {
			return 0, 0, err
		}
		for _, name := range out.TableNames {
			all++
			if t, ok := grid.Parse(name); ok && slices.Contains(e.prefixes, t.Prefix) {
				ours++
			}
		}
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			return all, ours, nil
		}
	}
}
