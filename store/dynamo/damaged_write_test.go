package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store"
)

// TestWrite_RejectsReadingsOfDamagedRow writes a reading into a damaged row. The reading must be
// rejected, and its verdict must name the table and the key of the row. Other readings of the
// request must be stored.
func TestWrite_RejectsReadingsOfDamagedRow(t *testing.T) {
	t.Parallel()
	for _, em := range both() {
		t.Run(em.Name, func(t *testing.T) {
			t.Parallel()
			for _, expect := range []store.Expect{store.ExpectNew, store.ExpectExisting} {
				t.Run(fmt.Sprint(expect), func(t *testing.T) {
					t.Parallel()
					writeIntoDamagedRows(t, em.Start(t), expect)
				})
			}
		})
	}
}

func writeIntoDamagedRows(t *testing.T, url string, expect store.Expect) {
	t.Helper()
	layouts := map[string]store.Layout{"weather": {RowWindow: time.Hour, Expect: expect}}
	for i, c := range []struct {
		update string
		values []types.AttributeValue
	}{
		{"REMOVE #_ids", nil},
		{"REMOVE #_at", nil},
		{"SET #_at = :a", []types.AttributeValue{asText("22")}},
		{"SET v = :a", []types.AttributeValue{asText("22")}},
		{"SET #_ids = :a", []types.AttributeValue{asText("22")}},
		{"SET #_ttl = :a", []types.AttributeValue{asText("22")}},
		{"SET #_size = :a", []types.AttributeValue{asText("22")}},
	} {
		e := startEngine(t, url, layouts)
		from := someTime.Add(time.Duration(-i) * time.Hour).Truncate(time.Hour)
		put(t, e, sensor(from, "v", varve.IntValue(1)), sensor(from.Add(time.Minute), "v", varve.IntValue(2)))
		table := tableNameAt(t, e, from)
		damageRow(t, url, table, from, c.update, c.values...)
		for _, known := range []bool{true, false} { // whether this process has written the row before
			if !known {
				e = startEngine(t, url, layouts)
			}
			beside := sensor(from.Add(-24*time.Hour), "v", varve.StringValue(fmt.Sprint(known)))
			verdicts := write(t, e, sensor(from.Add(2*time.Minute), "v", varve.IntValue(3)), beside)
			if v := verdicts[1]; v.Outcome != varve.Stored {
				t.Errorf("%s, known %v: reading of another row: %v, want stored", c.update, known, v)
			}
			v := verdicts[0]
			named := strings.Contains(v.Message, table) && strings.Contains(v.Message, fmt.Sprint(from.UnixMilli())) && strings.Contains(v.Message, "acme/weather/sensor_01")
			if v.Outcome != varve.Rejected || v.Code != varve.CodeDamaged || !named {
				t.Errorf("%s, known %v: %v, want damaged, with the table and the key", c.update, known, v)
			}
		}
	}
}

func write(t *testing.T, e *engine.Engine, readings ...varve.Reading) []varve.Verdict {
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
	return verdicts
}
