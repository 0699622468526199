package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

func verify(t *testing.T, e *engine.Engine) ([]store.DamagedRow, dynamo.Verified) {
	t.Helper()
	var found []store.DamagedRow
	s := e.Store.(*dynamo.Store) //nolint:forcetypeassert // startEngine made it
	done, err := s.Verify(t.Context(), dynamo.Verification{Found: func(d store.DamagedRow) { found = append(found, d) }})
	if err != nil {
		t.Fatal(err)
	}
	return found, done
}

// TestVerify_AcceptsWrittenRows checks that a verification finds no damage in rows of all kinds that
// the store writes.
func TestVerify_AcceptsWrittenRows(t *testing.T) {
	t.Parallel()
	for _, em := range both() {
		t.Run(em.Name, func(t *testing.T) {
			t.Parallel()
			url := em.Start(t)
			n := 0
			for i, layouts := range []map[string]store.Layout{nil, {"weather": {RowWindow: time.Hour}}, {"weather": {RowWindow: time.Second}}} {
				e := startEngine(t, url, layouts)
				device := fmt.Sprintf("d%d", i)
				send := func(list []varve.Reading) {
					for j := range list {
						list[j].Device = device
					}
					put(t, e, list...)
					n += len(list)
				}
				var list []varve.Reading
				for j := range 200 {
					r := sensor(someTime.Add(time.Duration(j)*7*time.Second+time.Duration(j%3)*time.Microsecond), "v", varve.IntValue(int64(j)))
					r.Fields = append(r.Fields, varve.Field{Name: "text", Value: varve.StringValue(strings.Repeat("x", 90))})
					list = append(list, r)
				}
				send(list)
				send(many(someTime.Add(-time.Hour), 60)) // creates closed rows
				if _, err := e.Streams.Spread(t.Context(), "acme", "weather", device, 4); err != nil {
					t.Fatal(err)
				}
				e = startEngine(t, url, layouts)
				send(many(someTime.Add(-2*time.Hour), 30))
				send([]varve.Reading{sensor(someTime.AddDate(0, -7, 0), "v", varve.IntValue(1))})
			}
			found, done := verify(t, startEngine(t, url, nil))
			if len(found) > 0 || done.Readings != int64(n) || done.Rows == 0 || done.Tables == 0 {
				t.Errorf("%+v, want %d readings; found %+v", done, n, found)
			}
		})
	}
}

// TestVerify_FindsEachDamage damages a row in several ways. Each time, a verification must find
// only that row, with its key.
func TestVerify_FindsEachDamage(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	e := startEngine(t, url, nil)
	put(t, e, sensor(someTime, "v", varve.IntValue(1)))
	put(t, e, sensor(someTime.AddDate(0, 0, -21), "v", varve.IntValue(1)))
	table := tableNameAt(t, e, someTime)
	ts := fmt.Sprint(someTime.Add(time.Minute).UnixMilli())
	set := func(ids ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: ids} }
	num := func(s string) types.AttributeValue { return &number{Value: s} }
	maps := func(m attrs) types.AttributeValue { return &member{Value: m} }
	good := func() attrs {
		return attrs{
			"series": asText("acme/weather/sensor_01"), "ts": num(ts), "_ids": set("a"),
			"_at": maps(attrs{"a": num(fmt.Sprint(someTime.Unix()))}), "v": maps(attrs{"a": num("1")}),
		}
	}
	for _, c := range []struct {
		problem string
		change  func(attrs)
	}{
		{"", func(attrs) {}},
		{"is not a series", func(r attrs) { r["series"] = asText("acme/weather") }},
		{"is not a series", func(r attrs) { r["series"] = asText("/weather/d") }},
		{"no shard", func(r attrs) { r["series"] = asText("acme/weather:64/d") }},
		{"is not a series", func(r attrs) { r["series"] = asText("acme/weather:07/d") }},
		{"outside of the table", func(r attrs) { r["ts"] = num("0") }},
		{"not only 1 to 9", func(r attrs) { r["ts"] = num(ts + ".102") }},
		{"it has no _ids", func(r attrs) { delete(r, "_ids") }},
		{"it has no _ids", func(r attrs) { r["_ids"] = asText("a") }},
		{"its key is malformed", func(r attrs) { r["_ids"] = set("a", ".x") }},
		{"it has no _at", func(r attrs) { delete(r, "_at") }},
		{"it has no arrival", func(r attrs) { r["_ids"] = set("a", "b") }},
		{"attribute v is not a map", func(r attrs) { r["v"] = num("1") }},
		{"it has no fields", func(r attrs) { delete(r, "v") }},
		{"attribute v has a member", func(r attrs) { r["v"] = maps(attrs{"a": num("1"), "b": num("2")}) }},
		{"attribute _at has a member", func(r attrs) { r["_at"] = maps(attrs{"a": num(fmt.Sprint(someTime.Unix())), "b": num("1")}) }},
		{"outside of the table's month", func(r attrs) { r["_at"] = maps(attrs{"a": num("1")}) }},
		{"finer than a millisecond", func(r attrs) { r["_at"] = maps(attrs{"a": num("1.00001")}) }},
		{"cannot have", func(r attrs) { r["_scale"] = maps(attrs{"a": maps(attrs{"v": num("90")})}) }},
		{"_ttl", func(r attrs) { r["_ttl"] = num("5") }},
		{"_size", func(r attrs) { r["_size"] = num("1.5") }},
		{"_size", func(r attrs) { r["_size"] = num("-1") }},
		{"after the row's ts", func(r attrs) {
			r["_ids"] = set(".E---a")
			r["_at"] = maps(attrs{".E---a": num(fmt.Sprint(someTime.Unix()))})
			r["v"] = maps(attrs{".E---a": num("1")})
		}},
		{"does not belong to stream", func(r attrs) { r["series"], r["_stream"] = asText("#streams"), asText("acme/weather") }},
		{"has no _stream", func(r attrs) { r["series"] = asText("#streams") }},
	} {
		row := good()
		c.change(row)
		checkFound(t, url, e, table, row, c.problem)
	}
}

// checkFound adds a row to a table, checks that a verification finds only its problem, and
// deletes the row. If problem is empty, the row is intact and must not be found.
func checkFound(t *testing.T, url string, e *engine.Engine, table string, row attrs, problem string) {
	t.Helper()
	if _, err := dynamotest.Client(url).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: row}); err != nil {
		t.Fatalf("%s: %v", problem, err)
	}
	found, _ := verify(t, e)
	switch {
	case problem == "" && len(found) > 0, problem != "" && len(found) != 1:
		t.Errorf("%s: found %+v", problem, found)
	case problem != "" && (!strings.Contains(found[0].Problem, problem) || found[0].Table != table || found[0].TS == "" || found[0].Series == ""):
		t.Errorf("%s: found %+v", problem, found[0])
	}
	key := attrs{"series": row["series"], "ts": row["ts"]}
	if _, err := dynamotest.Client(url).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
		t.Fatal(err)
	}
}

// TestVerify_SkipsVanishedTable deletes one of two tables after a verification has listed both. The
// verification must find no damage, and must count only the other table.
func TestVerify_SkipsVanishedTable(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	p := launch(t, url, "t_reg", nil)
	p.expect("first", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	p.expect("second", p.write(sensor(someTime.AddDate(0, 0, -21), "v", varve.IntValue(1))), varve.Stored)
	deleted := false
	done, err := p.store.Verify(t.Context(), dynamo.Verification{
		Found: func(d store.DamagedRow) { t.Errorf("found %+v, want nothing", d) },
		Table: func(in grid.Table) {
			if !deleted {
				deleted = true
				deleteByHand(t, url, in.Name())
			}
		},
	})
	if err != nil || done.Tables != 1 || done.Readings != 1 {
		t.Errorf("%+v, %v, want one table with one reading", done, err)
	}
}

// TestVerify_KeepsRate verifies a table at a limited rate. The pauses must be as long as the rate
// requires.
func TestVerify_KeepsRate(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	e := startEngine(t, url, nil)
	var list []varve.Reading
	for i := range 1200 {
		list = append(list, sensor(someTime.Add(time.Duration(i)*time.Second), "v", varve.IntValue(int64(i))))
	}
	put(t, e, list...)
	var waited time.Duration
	done, err := e.Store.(*dynamo.Store).Verify(t.Context(), dynamo.Verification{ //nolint:forcetypeassert // startEngine made it
		Rate: 2, Found: func(d store.DamagedRow) { t.Errorf("found %+v", d) },
		Wait: func(_ context.Context, d time.Duration) error { waited += d; return nil },
	})
	if err != nil || done.Readings != 1200 {
		t.Fatalf("%+v, %v", done, err)
	}
	if most := time.Duration(done.Units / 2 * float64(time.Second)); waited == 0 || waited > most || waited < most/2 {
		t.Errorf("waited %s for %v units at 2 per second", waited, done.Units)
	}
}
