package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store/mem"
)

// TestQuery_ReturnsColumnsOfConsecutiveTables reads three weeks of readings, which are in several
// tables with different event times. All readings must be returned as columns.
func TestQuery_ReturnsColumnsOfConsecutiveTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, engine.Options{Store: columnStore{mem.New(nil)}})
		wait(time.Date(2000, 3, 29, 12, 0, 0, 0, time.UTC).Sub(e.Now()))
		req, err := e.Router.Admit()
		if err != nil {
			t.Fatal(err)
		}
		series := varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}
		readings := make([]varve.Reading, 21)
		for i := range readings {
			at := e.Now().AddDate(0, 0, i-len(readings))
			readings[i] = varve.Reading{Series: series, Time: at, Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i))}}}
		}
		if err := req.Write(t.Context(), readings, make([]varve.Verdict, len(readings))); err != nil {
			t.Fatal(err)
		}
		rows, err := e.Query.Open(t.Context(), query.Query{Series: series, Window: varve.Window{From: readings[0].Time, To: e.Now()}})
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, others := 0, 0
		for {
			part, err := rows.NextPart(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if part.IsEnd() {
				break
			}
			columns, others = columns+part.Len()-len(part.Readings), others+len(part.Readings)
		}
		if read := rows.Coverage().Read; columns != len(readings) || others != 0 || len(read) < 3 {
			t.Errorf("%d readings in columns and %d others, from the tables %v", columns, others, read)
		}
	})
}
