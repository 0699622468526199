// Package admin creates, changes and describes DynamoDB tables.
//
// It selects tables only by their names. Package tables reads the record of a table in the
// registry, and decides whether the table may be changed. [Admin] is the main type.
//
// These rules always hold:
//
//   - [Admin.Create], [Admin.Change] and [Admin.TryUpdate] wait until the change is complete.
//   - A method for an existing table fails with store.ErrNoTable if the table is missing. Await,
//     Change and SetProtection first wait for the table, for about half a minute.
//
// A method that fails may still have made its change. It is safe to call it again, also in another
// process and after a crash.
package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store/dynamo/client"
)

// Admin changes the tables of one deployment.
type Admin struct {
	client *client.Client
	owner  string
	tags   bool // whether this endpoint supports tags
}

// New returns an Admin for the tables with the given owner tag. It assumes that the endpoint does
// not support tags, until CheckOwner has read the tags of a table.
func New(c *client.Client, owner string) *Admin { return &Admin{client: c, owner: owner} }

// Describe returns the description of a table, or fails with ErrNoTable.
func (a *Admin) Describe(ctx context.Context, name string) (*types.TableDescription, error) {
	out, err := a.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err != nil {
		return nil, a.client.Error("DescribeTable", name, err)
	}
	return out.Table, nil
}

// Exists fails with ErrNoTable if a table is missing.
func (a *Admin) Exists(ctx context.Context, name string) error {
	_, err := a.Describe(ctx, name)
	return err
}

// missingTries is the number of retries, over about half a minute, after which Await gives up on a
// missing table.
const missingTries = 30

// Await waits until a table exists, is active and is not being updated. It fails if the table is
// still missing after missingTries retries, because another program may have deleted it.
func (a *Admin) Await(ctx context.Context, name string) (*types.TableDescription, error) {
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return nil, fmt.Errorf("wait for table %s to become active: %w", name, err)
		}
		d, err := a.Describe(ctx, name)
		switch {
		case client.IsNoTable(err) && try < missingTries: // some servers of DynamoDB may not know a new table yet
		case err != nil:
			return nil, err
		case d.TableStatus == types.TableStatusActive:
			return d, nil
		case d.TableStatus != types.TableStatusCreating && d.TableStatus != types.TableStatusUpdating:
			return nil, fmt.Errorf("table %s is %s", name, d.TableStatus)
		}
	}
}

// Names lists the tables whose names sort after a given name. It passes the names to the function
// "each", one at a time and in order. It stops when that function returns false.
func (a *Admin) Names(ctx context.Context, after string, each func(name string) bool) error {
	in := &dynamodb.ListTablesInput{}
	if after != "" {
		in.ExclusiveStartTableName = aws.String(after)
	}
	for {
		out, err := a.client.ListTables(ctx, in)
		if err != nil {
			return a.client.Error("ListTables", "*", err)
		}
		for _, name := range out.TableNames {
			if !each(name) {
				return nil
			}
		}
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			return nil
		}
	}
}

// Create creates a table, and waits until it can be used. If the table exists already, Create does
// not fail, and "created" is false.
func (a *Admin) Create(ctx context.Context, in *dynamodb.CreateTableInput) (d *types.TableDescription, created bool, err error) {
	name := aws.ToString(in.TableName)
	_, err = a.client.CreateTable(ctx, in)
	created = err == nil
	var used *types.ResourceInUseException
	if err != nil && !errors.As(err, &used) {
		return nil, false, a.client.Error("CreateTable", name, err)
	}
	d, err = a.Await(ctx, name)
	return d, created, err
}

// Change describes an active table, and makes the update that the function "plan" returns for it.
// If plan returns nil, the table needs no update. If another change is in progress, Change waits
// for it and calls plan again. So an update whose answer was lost is not repeated.
func (a *Admin) Change(ctx context.Context, name string, plan func(*types.TableDescription) (*dynamodb.UpdateTableInput, error)) error {
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return fmt.Errorf("wait to change table %s: %w", name, err)
		}
		d, err := a.Await(ctx, name)
		if err != nil {
			return err
		}
		in, err := plan(d)
		if err != nil || in == nil {
			return err
		}
		if updated, err := a.TryUpdate(ctx, in); updated || err != nil {
			return err
		}
	}
}

// TryUpdate changes a table and waits until the change is complete. It returns false if another
// change is in progress. That may be the same change, if its answer was lost.
func (a *Admin) TryUpdate(ctx context.Context, in *dynamodb.UpdateTableInput) (updated bool, err error) {
	name := aws.ToString(in.TableName)
	_, err = a.client.UpdateTable(ctx, in)
	var used *types.ResourceInUseException
	if errors.As(err, &used) {
		return false, nil
	}
	if err != nil {
		return false, a.client.Error("UpdateTable", name, err)
	}
	_, err = a.Await(ctx, name)
	return true, err
}

// Delete begins the deletion of a table.
func (a *Admin) Delete(ctx context.Context, name string) error {
	if _, err := a.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(name)}); err != nil {
		return a.client.Error("DeleteTable", name, err)
	}
	return nil
}
