package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

func tableOf(prefix string, at time.Time) grid.Table {
	month := grid.MonthOf(at)
	r, _ := grid.DefaultPolicy().Locate(at, month)
	return grid.Table{Prefix: prefix, Range: r, Month: month}
}

var someTime = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// TestTables_ListsOwnTablesOfAnyPrefix creates tables of two deployments in one account. The first
// deployment must list its own tables of all prefixes, and must not list an unused table that was
// deleted.
func TestTables_ListsOwnTablesOfAnyPrefix(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	one, two := open(t, url, time.Now), open(t, url, time.Now)
	var gone grid.Table
	for s, prefixes := range map[*dynamo.Store][]string{one: {"a", "a-old", "gone"}, two: {"b", "a-other"}} {
		for _, prefix := range prefixes {
			tb := tableOf(prefix, someTime)
			if err := s.Create(t.Context(), tb, store.Hot); err != nil {
				t.Fatal(err)
			}
			if prefix == "gone" {
				gone = tb
			}
		}
	}
	// The other deployment has a table with the same prefix.
	if err := two.Create(t.Context(), tableOf("a", someTime.AddDate(0, 1, 0)), store.Hot); err != nil {
		t.Fatal(err)
	}
	name := gone.Name()
	unprotect := &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)}
	if _, err := dynamotest.Client(url).UpdateTable(t.Context(), unprotect); err != nil {
		t.Fatal(err)
	}
	if _, err := dynamotest.Client(url).DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter store.Filter
		want   int
	}{
		{store.Filter{Any: true}, 2},
		{store.Filter{Any: true, Prefixes: []string{"a"}}, 3}, // other owners' tables with the prefix are included
		{store.Filter{Prefixes: []string{"a"}}, 2},
		{store.Filter{Any: true}, 2}, // must not use the cached list of another selection
	} {
		c.filter.Window = varve.AllTime()
		infos, err := one.Tables(t.Context(), c.filter)
		if err != nil || len(infos) != c.want {
			t.Errorf("%+v: %v %+v", c.filter, err, infos)
		}
		for _, in := range infos {
			if in.Prefix != "a" && in.Prefix != "a-old" || in.Owned != (in.Month == grid.MonthOf(someTime)) {
				t.Errorf("%+v: %+v", c.filter, in)
			}
		}
	}
}
