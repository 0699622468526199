package doctor

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/row"
	"github.com/varvedb/varve/store/dynamo/tables"
	"github.com/varvedb/varve/store/dynamo/template"
)

// absent is the name of a series and the key of an item. Neither ever exists.
const absent = "_doctor"

// attempt is a request that shows whether an action is allowed. It changes nothing, because its table
// or item is missing, or its condition is never true.
type attempt struct {
	action string
	table  string
	role   string // kind of process that needs the action, and name of the policy that allows it
	send   func() error
}

func (e *examiner) checkPermissions(ctx context.Context) {
	for _, a := range e.attempts(ctx) {
		check, err := "permission "+a.action, a.send()
		var failed *types.ConditionalCheckFailedException
		var missing *types.ResourceNotFoundException
		var api smithy.APIError
		switch {
		case err == nil, errors.As(err, &failed), errors.As(err, &missing):
			e.good(check, "allowed on %s (%s)", a.table, a.role)
		case errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException":
			e.wrong(check, "attach the policy "+a.role+" of the Terraform module iam, or one like it, if this process is a "+a.role, "not allowed on %s (%s)", a.table, a.role)
		default:
			e.failed(check, a.action, a.table, err)
		}
	}
	e.notChecked("permissions CreateTable, DeleteTable and TagResource", "an attempt would create or delete tables; the rotator needs them")
}

// attempts returns attempts of actions on the registry, and on a missing table of each prefix.
func (e *examiner) attempts(ctx context.Context) []attempt {
	name := e.Client.Registry()
	registry, exists := aws.String(name), aws.String("attribute_exists("+items.AttrPK+")")
	key := items.Key(store.Key{PK: absent, SK: absent})
	all := []attempt{
		{"Query", name, "reader", func() error {
			_, err := e.Items.Query(ctx, store.ItemQuery{PK: absent})
			return err
		}},
		{"PutItem", name, "router", func() error {
			_, err := e.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: registry, Item: key, ConditionExpression: exists})
			return err
		}},
		{"BatchWriteItem", name, "router", func() error { // the request deletes a missing item
			_, err := e.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
				name: {{DeleteRequest: &types.DeleteRequest{Key: key}}},
			}})
			return err
		}},
		{"DeleteItem", name, "rotator", func() error {
			_, err := e.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: registry, Key: key, ConditionExpression: exists})
			return err
		}},
	}
	for _, prefix := range e.Prefixes {
		all = append(all, e.tableAttempts(ctx, prefix+absentTable)...)
	}
	return all
}

// absentTable follows the prefix in the name of a table that never exists, because its range is
// empty. The name has the form of a table's name, so the same policies apply to it.
const absentTable = "_0000000000_0000000000_01_1970"

func (e *examiner) tableAttempts(ctx context.Context, name string) []attempt {
	table, key := aws.String(name), attr.Item{row.AttrSeries: &attr.Str{Value: absent}, row.AttrTS: &attr.Num{Value: "0"}}
	exists := aws.String("attribute_exists(" + row.AttrSeries + ")")
	return []attempt{
		{"UpdateItem", name, "router", func() error {
			_, err := e.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key, ConditionExpression: exists})
			return err
		}},
		{"PutItem", name, "router", func() error {
			_, err := e.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key, ConditionExpression: exists})
			return err
		}},
		{"Query", name, "reader", func() error {
			_, err := e.Client.Query(ctx, &dynamodb.QueryInput{
				TableName: table, KeyConditionExpression: aws.String(row.AttrSeries + "=:s"), Limit: aws.Int32(1),
				ExpressionAttributeValues: attr.Item{":s": &attr.Str{Value: absent}},
			})
			return err
		}},
		{"UpdateTable", name, "rotator", func() error {
			_, err := e.Client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: table, DeletionProtectionEnabled: aws.Bool(true)})
			return err
		}},
		{"UpdateTimeToLive", name, "rotator", func() error {
			_, err := e.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
				TableName:               table,
				TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(row.AttrTTL), Enabled: aws.Bool(true)},
			})
			return err
		}},
	}
}

// defaultQuota is DynamoDB's default quota of tables per account and region.
const defaultQuota = 2500

// headRoom defines the part of the quota that should stay free: 5 means a fifth.
const headRoom = 5

// checkTables compares the number of tables with the quota, today and in the future.
func (e *examiner) checkTables(ctx context.Context) {
	all, own, err := e.countTables(ctx)
	if err != nil {
		e.failed(aboutTables, "ListTables", "*", err)
		return
	}
	if all > e.TableQuota-e.TableQuota/headRoom {
		e.wrong(aboutTables, "raise the quota of tables (Service Quotas, Amazon DynamoDB) and then store.table_quota, drop old tables with retention.drop, or use another account or region",
			"%d tables in this account and region, %d of this deployment; the quota is %d", all, own, e.TableQuota)
	} else {
		e.good(aboutTables, "%d in this account and region, %d of this deployment; the quota is %d", all, own, e.TableQuota)
	}
	e.checkFuture(ctx, own, all-own)
}

func (e *examiner) checkFuture(ctx context.Context, own, others int) {
	if e.Forecast == nil {
		return
	}
	var infos []store.Info // tables of this deployment; empty before the first start
	if own > 0 {
		var err error
		f := store.Filter{Prefixes: e.Prefixes, Window: varve.AllTime(), Details: true, Fresh: true}
		if infos, err = e.Tables.Catalog.Tables(ctx, f); err != nil {
			e.failed(aboutFuture, "list tables", "*", err)
			return
		}
	}
	found, remedy, isWarning, err := e.Forecast(ctx, infos, others)
	switch {
	case err != nil:
		e.failed(aboutFuture, "forecast", "*", err)
	case isWarning:
		e.findings = append(e.findings, Finding{aboutFuture, Warning, found, remedy})
	case remedy != "":
		e.wrong(aboutFuture, remedy, "%s", found)
	default:
		e.good(aboutFuture, "%s", found)
	}
}

func (e *examiner) countTables(ctx context.Context) (all, own int, err error) {
	err = e.Admin.Names(ctx, "", func(name string) bool {
		all++
		if t, ok := grid.Parse(name); ok && slices.Contains(e.Prefixes, t.Prefix) {
			own++
		}
		return true
	})
	return all, own, err
}

func (e *examiner) checkUnits(ctx context.Context) {
	out, err := e.Client.DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{})
	if err != nil {
		e.failed(aboutUnits, "DescribeLimits", "*", err)
		return
	}
	most := template.Capacity{Read: aws.ToInt64(out.TableMaxReadCapacityUnits), Write: aws.ToInt64(out.TableMaxWriteCapacityUnits)}
	if most.Read == 0 || most.Write == 0 {
		e.notChecked(aboutUnits, "this endpoint does not report the limits of a table")
		return
	}
	t, err := tables.Template(ctx, e.Items)
	if err != nil {
		return // checkTemplate reports the error
	}
	settings := []template.Settings{t.Settings}
	for class := range t.Classes {
		settings = append(settings, t.Of(class))
	}
	for i := range settings {
		for _, tier := range template.Tiers() {
			if c := settings[i].Capacity[tier.String()]; c.Read > most.Read || c.Write > most.Write {
				e.wrong(aboutUnits, "lower capacity in the template, or raise the quota (Service Quotas, Amazon DynamoDB)",
					"the template gives %s tables %d read and %d write units; the limits are %d and %d", tier, c.Read, c.Write, most.Read, most.Write)
				return
			}
		}
	}
	e.good(aboutUnits, "a table may have %d read and %d write units", most.Read, most.Write)
}
