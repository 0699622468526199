package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

func startEngine(t *testing.T, url string, layouts map[string]store.Layout) *engine.Engine {
	t.Helper()
	now := func() time.Time { return someTime.Add(24 * time.Hour) }
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), engine.Options{Store: s, Now: now, Parallel: 16, Layouts: layouts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func put(t *testing.T, e *engine.Engine, readings ...varve.Reading) {
	t.Helper()
	req, err := e.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer req.Done()
	verdicts := make([]varve.Verdict, len(readings))
	if err := req.Write(t.Context(), readings, verdicts); err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
	}
}

// countReadings reads a query in pages of q.Limit, and returns the number of readings.
func countReadings(t *testing.T, e *engine.Engine, q query.Query) (n int) {
	t.Helper()
	for {
		rows, err := e.Query.Open(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for {
			some, err := rows.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(some) == 0 {
				break
			}
			n += len(some)
		}
		after, more := rows.More()
		rows.Close()
		if !more {
			return n
		}
		q.After = &after
	}
}

// TestQuery_FindsReadingsOfLostStream deletes the registry item of a stream. Reads must find the
// readings of all hours and shards, even after a write has recreated the item.
func TestQuery_FindsReadingsOfLostStream(t *testing.T) {
	t.Parallel()
	for _, emulator := range both() {
		t.Run(emulator.Name, func(t *testing.T) {
			t.Parallel()
			url := emulator.Start(t)
			first := startEngine(t, url, map[string]store.Layout{"weather": {RowWindow: time.Hour}})
			series := sensor(someTime, "v", varve.IntValue(0)).Series
			spread := series
			spread.Device = "spread"
			var readings []varve.Reading
			for i := range 240 {
				r := sensor(someTime.Add(time.Duration(i)*time.Minute), "v", varve.IntValue(int64(i)))
				readings = append(readings, r)
			}
			put(t, first, readings...)
			if _, err := first.Streams.Spread(t.Context(), series.Tenant, series.Stream, spread.Device, 8); err != nil {
				t.Fatal(err)
			}
			writer := startEngine(t, url, map[string]store.Layout{"weather": {RowWindow: time.Hour}})
			for i := range readings {
				readings[i].Series = spread
			}
			put(t, writer, readings...)
			for _, step := range []string{"lost", "lost and rewritten"} {
				if step == "lost" {
					if err := writer.Store.Delete(t.Context(), store.Key{PK: "TENANT#acme", SK: "STREAM#weather"}); err != nil {
						t.Fatal(err)
					}
				}
				reader := startEngine(t, url, nil)
				if step != "lost" {
					put(t, reader, sensor(someTime.Add(-time.Hour), "v", varve.IntValue(1)))
					reader = startEngine(t, url, nil)
				}
				for _, s := range []varve.Series{series, spread} {
					want := 240
					if step != "lost" && s == series {
						want++
					}
					checkReads(t, reader, step, s, want)
				}
			}
			st, err := first.Streams.Get(t.Context(), series.Tenant, series.Stream, true)
			if err != nil || st.Window != time.Hour || st.Shards["spread"] != 8 || fmt.Sprint(st.Classes) != "[default]" {
				t.Errorf("the stream's item is %+v, %v", st, err)
			}
		})
	}
}

// checkReads reads a series in both orders, with and without consistency, and checks its latest
// reading.
func checkReads(t *testing.T, e *engine.Engine, step string, s varve.Series, want int) {
	t.Helper()
	for _, o := range []varve.Order{varve.Ascending, varve.Descending} {
		for _, strong := range []bool{false, true} {
			q := query.Query{Series: s, Window: varve.AllTime(), Order: o, Limit: 7, Consistent: strong}
			if n := countReadings(t, e, q); n != want {
				t.Errorf("%s: %s, %s, consistent %v: %d readings of %d", step, s, o, strong, n, want)
			}
		}
	}
	a, err := e.Query.Latest(t.Context(), query.LatestQuery{Series: s})
	if err != nil || !a.Found || !a.Reading.Time.Equal(someTime.Add(239*time.Minute)) {
		t.Errorf("%s: latest of %s: %s, %v", step, s, a.Reading.Time, err)
	}
}

// TestStart_WidensOldStreamItem restores an old registry item of a stream. The next process must
// widen the item to the layout in the tables.
func TestStart_WidensOldStreamItem(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	e := startEngine(t, url, nil)
	put(t, e, sensor(someTime.Add(-time.Hour), "v", varve.IntValue(1)))
	key := store.Key{PK: "TENANT#acme", SK: "STREAM#weather"}
	backup, err := e.Store.Get(t.Context(), []store.Key{key}, true)
	if err != nil || len(backup) != 1 {
		t.Fatal(len(backup), err)
	}
	wide := startEngine(t, url, map[string]store.Layout{"weather": {RowWindow: time.Hour}})
	var readings []varve.Reading
	for i := range 120 {
		readings = append(readings, sensor(someTime.Add(time.Duration(i)*time.Minute), "v", varve.IntValue(int64(i))))
	}
	put(t, wide, readings...)
	if err := e.Store.Put(t.Context(), backup[0]); err != nil {
		t.Fatal(err)
	}
	q := query.Query{Series: readings[0].Series, Window: varve.AllTime(), Limit: 7}
	if n := countReadings(t, startEngine(t, url, nil), q); n != 121 {
		t.Errorf("%d readings of 121", n)
	}
}

// TestQuery_UsesConfiguredWindow removes the row window of a stream from the registry and the
// tables. Queries must use the configured row window.
func TestQuery_UsesConfiguredWindow(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	layouts := map[string]store.Layout{"weather": {RowWindow: time.Hour}}
	e := startEngine(t, url, layouts)
	var readings []varve.Reading
	for i := range 120 {
		readings = append(readings, sensor(someTime.Add(time.Duration(i)*time.Minute), "v", varve.IntValue(int64(i))))
	}
	put(t, e, readings...)
	eraseStreamRows(t, url, e)
	if err := e.Store.Delete(t.Context(), store.Key{PK: "TENANT#acme", SK: "STREAM#weather"}); err != nil {
		t.Fatal(err)
	}
	q := query.Query{Series: readings[0].Series, Window: varve.AllTime(), Limit: 7}
	if n := countReadings(t, startEngine(t, url, layouts), q); n != 120 {
		t.Errorf("%d readings of 120", n)
	}
}

func eraseStreamRows(t *testing.T, url string, e *engine.Engine) {
	t.Helper()
	infos, err := e.Store.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime(), SkipEmpty: true, Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	c := dynamotest.Client(url)
	for _, in := range infos {
		name := in.Name()
		out, err := c.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &name, KeyConditionExpression: aws.String("series=:s"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":s": &types.AttributeValueMemberS{Value: "#streams"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range out.Items {
			key := map[string]types.AttributeValue{"series": row["series"], "ts": row["ts"]}
			if _, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
