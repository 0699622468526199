package dynamo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/tests/dynamotest"
)

// interruptDrop creates and retires the table of a process. It stops the drop after DynamoDB has
// accepted the deletion.
func interruptDrop(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := launch(t, url, "t_reg", &actionHook{action: "DeleteTable", after: cancel})
	if err := p.store.Create(t.Context(), p.table(), store.Hot); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Retire(t.Context(), p.table(), someTime); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Drop(ctx, p.table()); !errors.Is(err, context.Canceled) {
		t.Fatalf("drop: %v, want it canceled", err)
	}
}

// createForeign creates a protected table with the form of a table of readings, as another program could.
func createForeign(t *testing.T, url, name string) {
	t.Helper()
	if _, err := dynamotest.Client(url).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, DeletionProtectionEnabled: aws.Bool(true),
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("series"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("ts"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("series"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("ts"), KeyType: types.KeyTypeRange},
		},
	}); err != nil {
		t.Fatal(err)
	}
}

// TestDrop_RefusesForeignTableAfterInterruptedDrop interrupts a drop. Another program then creates a
// table of that name. A repeated drop and a restore must leave it as it is.
func TestDrop_RefusesForeignTableAfterInterruptedDrop(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	interruptDrop(t, url)
	p := launch(t, url, "t_reg", nil)
	createForeign(t, url, p.table().Name())
	if err := p.store.Drop(t.Context(), p.table()); !errors.Is(err, store.ErrRefused) {
		t.Errorf("drop: %v, want %v", err, store.ErrRefused)
	}
	if err := p.store.Restore(t.Context(), p.table()); !errors.Is(err, store.ErrRefused) {
		t.Errorf("restore: %v, want %v", err, store.ErrRefused)
	}
	if d := describe(t, url, p.table().Name()); !aws.ToBool(d.DeletionProtectionEnabled) {
		t.Error("the foreign table is no longer protected")
	}
}

// TestCompleteDrops_ForgetsDroppedTable interrupts a drop, and completes it. A later table of that name,
// which another program creates, must not count as owned.
func TestCompleteDrops_ForgetsDroppedTable(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	interruptDrop(t, url)
	p := launch(t, url, "t_reg", nil)
	if err := p.store.CompleteDrops(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := store.Filter{Prefixes: []string{"t"}, Window: varve.AllTime(), Details: true, Fresh: true}
	createForeign(t, url, p.table().Name())
	if infos, err := p.store.Tables(t.Context(), all); err != nil || len(infos) != 1 || infos[0].Owned {
		t.Errorf("after another program created a table: %+v, %v; want one table that is not owned", infos, err)
	}
}

// TestDrop_UndoesRefusedRemovalOfProtection drops a table without permission to change it. Afterward, the
// table must be usable and protected.
func TestDrop_UndoesRefusedRemovalOfProtection(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	d := &denying{}
	p := launch(t, url, "t_reg", d)
	p.rotate()
	if err := p.store.Retire(t.Context(), p.table(), someTime); err != nil {
		t.Fatal(err)
	}
	d.action.Store("UpdateTable")
	if err := p.store.Drop(t.Context(), p.table()); err == nil || !strings.Contains(err.Error(), "dynamodb:UpdateTable") {
		t.Errorf("drop: %v, want a missing right to dynamodb:UpdateTable", err)
	}
	d.action.Store("")
	if !aws.ToBool(describe(t, url, p.table().Name()).DeletionProtectionEnabled) {
		t.Error("the table is not protected after the refused drop")
	}
	if err := p.store.Restore(t.Context(), p.table()); err != nil {
		t.Errorf("restore: %v", err)
	}
	p.expect("write", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
}
