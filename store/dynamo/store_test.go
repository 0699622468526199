package dynamo_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/storetest"
	"github.com/varvedb/varve/tests/dynamotest"
	"pgregory.net/rapid"
)

var registries atomic.Int64

// open returns a new store with its own registry on an emulator.
func open(t *testing.T, url string, now func() time.Time) *dynamo.Store {
	t.Helper()
	return openWith(t, dynamo.Options{
		Client: dynamotest.Client(url), Registry: fmt.Sprintf("t_registry%d", registries.Add(1)), Now: now,
	})
}

func openWith(t *testing.T, o dynamo.Options) *dynamo.Store {
	t.Helper()
	s, err := dynamo.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// subject is a storetest.Subject whose store has no state outside of DynamoDB.
type subject struct{ *dynamo.Store }

func (subject) Reopen() error { return nil }

// TestStore_AgreesWithModel compares the store with the model of package storetest. Each random sequence
// of operations begins without tables and with an empty registry.
func TestStore_AgreesWithModel(t *testing.T) {
	for _, e := range emulators {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			storetest.Compare(t, func(rt *rapid.T, now func() time.Time) storetest.Subject {
				clearTables(rt, url)
				s, err := dynamo.Open(t.Context(), dynamo.Options{
					Client: dynamotest.Client(url), Registry: "t_registry", Now: now,
				})
				if err != nil {
					rt.Fatal(err)
				}
				return subject{s}
			}, storetest.CountsLag)
		})
	}
}

func clearTables(t interface{ Fatal(args ...any) }, url string) {
	c := dynamotest.Client(url)
	for {
		out, err := c.ListTables(context.Background(), &dynamodb.ListTablesInput{})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.TableNames) == 0 {
			return
		}
		for _, name := range out.TableNames {
			unprotect := &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)}
			if _, err := c.UpdateTable(context.Background(), unprotect); err != nil {
				t.Fatal(err)
			}
			if _, err := c.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var emulators = []dynamotest.Emulator{dynamotest.Dynoxide, dynamotest.Local}

// both returns all emulators. In short tests, it returns only the fast one.
func both() []dynamotest.Emulator {
	if testing.Short() {
		return emulators[:1]
	}
	return emulators
}

// conforming returns the emulators for the contract of a store. One of them creates and deletes tables slowly,
// except in short tests.
func conforming() []dynamotest.Emulator {
	if testing.Short() {
		return emulators
	}
	return []dynamotest.Emulator{dynamotest.Dynoxide, dynamotest.LocalDelayed}
}

func TestStore_ConformsToContract(t *testing.T) {
	for _, e := range conforming() {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
				clearTables(t, url)
				return open(t, url, now)
			}, storetest.CountsLag)
		})
	}
}
