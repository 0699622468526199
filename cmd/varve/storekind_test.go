package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestStoreKinds_MatchConfiguration checks that storeKinds has exactly one element for each value
// of store.kind, with the functions that all commands need.
func TestStoreKinds_MatchConfiguration(t *testing.T) {
	var names []string
	for _, k := range storeKinds() {
		names = append(names, k.name)
		if k.open == nil || k.place == nil || k.greeting == nil || k.examine == nil {
			t.Errorf("kind %s has no open, place, greeting or examine", k.name)
		}
		if k.tables < 1 {
			t.Errorf("kind %s reads %d tables at a time, want at least 1", k.name, k.tables)
		}
		c := config.Default()
		c.Store.Kind = k.name
		if got := kindOf(&c).name; got != k.name {
			t.Errorf("kindOf store.kind %s is %s", k.name, got)
		}
	}
	if want := config.StoreKinds(); !slices.Equal(names, want) {
		t.Errorf("kinds are %v, the configuration knows %v", names, want)
	}
}

// TestGreeting_NamesAccountOrEndpoint checks the banner of DynamoDB: the endpoint of an emulator,
// or else account and region.
func TestGreeting_NamesAccountOrEndpoint(t *testing.T) {
	url := dynamotest.Dynoxide.Start(t)
	client := dynamotest.Client(url)
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: client, Registry: "fleet_registry"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at, err := s.Location(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Store.Kind, c.Tables.Prefix = "dynamodb", "fleet"
	if got, want := kindOf(&c).greeting(t.Context(), &c, s), "in DynamoDB, account "+at.Account+", region "+at.Region+", tables fleet_…"; got != want {
		t.Errorf("on AWS: %q, want %q", got, want)
	}
	c.Store.Endpoint = url
	if got, want := kindOf(&c).greeting(t.Context(), &c, s), "in DynamoDB at "+url+", tables fleet_…"; got != want {
		t.Errorf("on an emulator: %q, want %q", got, want)
	}
}

// TestMemory_IsBoundedAsByStore checks that the maximum of store.memory is the maximum of the store.
func TestMemory_IsBoundedAsByStore(t *testing.T) {
	if config.MaxMemory != local.MaxMemtableBytes {
		t.Errorf("the setting permits %d bytes, the store %d", config.MaxMemory, local.MaxMemtableBytes)
	}
}

// TestCommands_LeaveMissingRegistry runs the commands that change nothing on DynamoDB before the first start.
// They must not create the registry.
func TestCommands_LeaveMissingRegistry(t *testing.T) {
	url := dynamotest.Dynoxide.Start(t)
	client := dynamotest.Client(url)
	for _, command := range [][]string{
		{"verify"}, {"repair"}, {"doctor", "--verify"}, {"keys", "list"}, {"keys", "revoke", "abc"}, {"keys", "create", "--scope", "read"},
	} {
		code, text := runTo(t, append(command, "--store", "dynamodb", "--set", "store.endpoint="+url)...)
		want := "registry varve_registry: table is missing: check store.registry"
		switch command[len(command)-1] {
		case "read":
			want = "the first key must be an admin key"
		case "--verify":
			code = exitFailure // the clock and the address of this machine decide the exit code
		}
		if code == 0 || !strings.Contains(text, want) {
			t.Errorf("varve %v: exit code %d, want %q:\n%s", command, code, want, text)
		}
		tables, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		if err != nil || len(tables.TableNames) > 0 {
			t.Fatalf("after varve %v: tables %v, %v, want none", command, tables.TableNames, err)
		}
	}
	if code, text := runTo(t, "keys", "create", "--scope", "admin", "--store", "dynamodb", "--set", "store.endpoint="+url); code != 0 {
		t.Errorf("varve keys create: exit code %d, want 0:\n%s", code, text)
	}
	if code, text := runTo(t, "keys", "list", "--store", "dynamodb", "--set", "store.endpoint="+url); code != 0 || !strings.Contains(text, "admin") {
		t.Errorf("varve keys list: exit code %d, want 0 and the key:\n%s", code, text)
	}
}
