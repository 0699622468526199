package engine_test

import (
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestLogs_ConflictOnEveryStore checks that a resent log entry is a duplicate. An entry with the
// same id and other content must be a conflict, and the first entry must remain.
func TestLogs_ConflictOnEveryStore(t *testing.T) {
	t.Parallel()
	onDynamo := func(e dynamotest.Emulator) func(*testing.T) (store.Store, error) {
		return func(t *testing.T) (store.Store, error) {
			return dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(e.Start(t)), Registry: "t_registry"})
		}
	}
	for name, start := range map[string]func(*testing.T) (store.Store, error){
		"mem": func(*testing.T) (store.Store, error) { return mem.New(nil), nil },
		"local": func(t *testing.T) (store.Store, error) {
			return local.Open(local.Options{Dir: t.TempDir(), MinFree: -1})
		},
		"dynoxide": onDynamo(dynamotest.Dynoxide),
		"dynamodb": onDynamo(dynamotest.Local),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := start(t)
			if err != nil {
				t.Fatal(err)
			}
			conflicts(t, open(t, engine.Options{Store: s}))
		})
	}
}

func conflicts(t *testing.T, e *engine.Engine) {
	t.Helper()
	attributes := func(text string) varve.Value {
		v, err := varve.JSONValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	id, err := varve.ParseID("case-17")
	if err != nil {
		t.Fatal(err)
	}
	at := e.Now()
	for _, row := range []struct {
		message, attributes, state string
		want                       varve.Verdict
	}{
		{"hot", `{"":[1.50,null],"b":{"a":1e3}}`, "A", varve.Verdict{Outcome: varve.Stored}},
		{"hot", `{"b":{"a":1000},"":[1.5,null]}`, "A", varve.Verdict{Outcome: varve.Duplicate}},
		{"hot", `{"":[1.6,null],"b":{"a":1e3}}`, "A", varve.Verdict{Outcome: varve.Rejected, Code: varve.CodeConflict}},
		{"cold", `{"":[1.50,null],"b":{"a":1e3}}`, "A", varve.Verdict{Outcome: varve.Rejected, Code: varve.CodeConflict}},
		{"hot", `{"":[1.50,null],"b":{"a":1e3}}`, "B", varve.Verdict{Outcome: varve.Rejected, Code: varve.CodeConflict}},
	} {
		l, v, err := e.Logs.Add(t.Context(), devicelog.Entry{
			Tenant: varve.DefaultTenant, Device: "d", Time: at, ID: id, State: row.state, Message: row.message, Attributes: attributes(row.attributes),
		})
		if err != nil || v.Outcome != row.want.Outcome || v.Code != row.want.Code || l.Message != "hot" || l.State != "A" {
			t.Errorf("%s %s %s: %s %+v %v", row.state, row.message, row.attributes, v, l, err)
		}
	}
	page, err := e.Logs.List(t.Context(), devicelog.Query{Tenant: varve.DefaultTenant, Device: "d", Window: varve.AllTime()})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("%+v %v", page, err)
	}
}
