package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/tests/dynamotest"
)

// damageRow changes the row of a reading with an update expression, in which the values are :a,
// :b and :c.
func damageRow(t *testing.T, url, table string, at time.Time, update string, values ...types.AttributeValue) {
	t.Helper()
	in := &dynamodb.UpdateItemInput{TableName: &table, UpdateExpression: &update, Key: map[string]types.AttributeValue{
		"series": &types.AttributeValueMemberS{Value: "acme/weather/sensor_01"},
		"ts":     &types.AttributeValueMemberN{Value: fmt.Sprint(at.UnixMilli())},
	}}
	for i, v := range values {
		if in.ExpressionAttributeValues == nil {
			in.ExpressionAttributeValues = map[string]types.AttributeValue{}
		}
		in.ExpressionAttributeValues[":"+string(rune('a'+i))] = v
	}
	for _, name := range []string{"_ids", "_at", "_scale", "_ttl", "_size"} {
		if strings.Contains(update, "#"+name) {
			if in.ExpressionAttributeNames == nil {
				in.ExpressionAttributeNames = map[string]string{}
			}
			in.ExpressionAttributeNames["#"+name] = name
		}
	}
	if _, err := dynamotest.Client(url).UpdateItem(t.Context(), in); err != nil {
		t.Fatalf("%s: %v", update, err)
	}
}

// tableNameAt returns the name of the only table whose range contains an event time and that has
// readings.
func tableNameAt(t *testing.T, e *engine.Engine, at time.Time) string {
	t.Helper()
	infos, err := e.Store.Tables(t.Context(), store.Filter{Any: true, Window: varve.Window{From: at, To: at.Add(1)}, SkipEmpty: true, Fresh: true})
	if err != nil || len(infos) != 1 {
		t.Fatalf("%d tables, %v", len(infos), err)
	}
	return infos[0].Name()
}

func asText(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// TestRead_NamesDamagedRow damages a row in each of several ways. Reads of the row must fail with
// an error that has the key of the row. With SkipDamaged, reads must skip the row. Reads of other rows
// must succeed.
func TestRead_NamesDamagedRow(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	e := startEngine(t, url, nil)
	all := sensor(someTime, "v", varve.IntValue(0)).Series
	for i, c := range []struct {
		problem, update string
		values          []types.AttributeValue
	}{
		{"it has no _ids", "REMOVE #_ids", nil},
		{"it has no _at", "REMOVE #_at", nil},
		{"attribute v is not a map", "SET v = :a", []types.AttributeValue{asText("22")}},
		{"attribute _at is not a map", "SET #_at = :a", []types.AttributeValue{asText("22")}},
		{"attribute _scale is not a map", "SET #_scale = :a", []types.AttributeValue{asText("22")}},
		{"it has no fields", "REMOVE v", nil},
		{"attribute _ttl is not a number", "SET #_ttl = :a", []types.AttributeValue{asText("22")}},
	} {
		from := someTime.Add(time.Duration(-i) * time.Hour)
		for m := range 3 {
			put(t, e, sensor(from.Add(time.Duration(m)*time.Minute), "v", varve.IntValue(int64(m))))
		}
		bad := from.Add(time.Minute)
		table := tableNameAt(t, e, bad)
		damageRow(t, url, table, bad, c.update, c.values...)
		want := store.DamagedRow{Table: table, Series: all.String(), TS: fmt.Sprint(bad.UnixMilli())}
		for _, o := range []varve.Order{varve.Ascending, varve.Descending} {
			q := query.Query{Series: all, Window: varve.Window{From: from, To: from.Add(time.Hour)}, Order: o}
			_, _, err := readAll(t, e, q)
			var row *store.DamagedRow
			if !errors.As(err, &row) || varve.FailureOf(err) != varve.Damaged || row.Table != want.Table || row.Series != want.Series || row.TS != want.TS || !strings.Contains(row.Problem, c.problem) {
				t.Errorf("%s: %v", c.problem, err)
			}
			q.SkipDamaged = true
			n, cover, err := readAll(t, e, q)
			if err != nil || n != 2 || len(cover.Damaged) != 1 || cover.Damaged[0].TS != want.TS || fmt.Sprint(cover.Failed) != "["+table+"]" {
				t.Errorf("%s, skipped: %d readings, %+v, %v", c.problem, n, cover, err)
			}
			harmless := q
			harmless.SkipDamaged, harmless.Window.From = false, bad.Add(time.Second)
			if n, _, err := readAll(t, e, harmless); err != nil || n != 1 {
				t.Errorf("%s, window without the row: %d readings, %v", c.problem, n, err)
			}
		}
	}
}

func readAll(t *testing.T, e *engine.Engine, q query.Query) (n int, c query.Coverage, err error) {
	t.Helper()
	rows, err := e.Query.Open(t.Context(), q)
	if err != nil {
		return 0, c, err
	}
	defer rows.Close()
	for {
		some, err := rows.Next(t.Context())
		if err != nil || len(some) == 0 {
			return n, rows.Coverage(), err
		}
		n += len(some)
	}
}

// TestLatest_SkipsDamagedRow damages the row of the latest reading. Latest must fail. With SkipDamaged,
// Latest must return the reading before it.
func TestLatest_SkipsDamagedRow(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	e := startEngine(t, url, nil)
	put(t, e, sensor(someTime, "v", varve.IntValue(1)), sensor(someTime.Add(time.Minute), "v", varve.IntValue(2)))
	table := tableNameAt(t, e, someTime)
	damageRow(t, url, table, someTime.Add(time.Minute), "SET v = :a", asText("x"))
	for _, by := range []varve.By{varve.ByEvent, varve.ByArrival} {
		q := query.LatestQuery{Series: sensor(someTime, "v", varve.IntValue(1)).Series, By: by}
		if _, err := e.Query.Latest(t.Context(), q); varve.FailureOf(err) != varve.Damaged {
			t.Errorf("by %s: %v", by, err)
		}
		q.SkipDamaged = true
		a, err := e.Query.Latest(t.Context(), q)
		if err != nil || !a.Found || !a.Reading.Time.Equal(someTime) || len(a.Coverage.Damaged) != 1 || a.Coverage.Failed[0] != table {
			t.Errorf("by %s, skipped: %+v, %v", by, a, err)
		}
	}
}
