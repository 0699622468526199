package rewind_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rewind"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

var start = time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)

// TestRun_KeepsHold removes later readings from a table on hold, and from a retired table. The hold
// and the retirement must remain.
func TestRun_KeepsHold(t *testing.T) {
	s, err := local.Open(local.Options{Dir: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	month := grid.MonthOf(start)
	r, ok := grid.DefaultPolicy().Locate(start, month)
	if !ok {
		t.Fatal("no table")
	}
	held, retired := grid.Table{Prefix: "held", Range: r, Month: month}, grid.Table{Prefix: "retired", Range: r, Month: month}
	series := varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "d"}
	for _, table := range []grid.Table{held, retired} {
		if err := s.Create(t.Context(), table, store.Hot); err != nil {
			t.Fatal(err)
		}
		var list []varve.Reading
		for i := range 3 {
			list = append(list, varve.Reading{
				Series: series, Time: start.Add(time.Duration(i) * time.Second), Arrived: start.Add(time.Duration(i) * time.Minute),
				Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i))}},
			})
		}
		if res := s.Write(t.Context(), []store.Batch{{Table: table, Readings: list}})[0]; res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	if err := s.Hold(t.Context(), held, "audit"); err != nil {
		t.Fatal(err)
	}
	if err := s.Retire(t.Context(), retired, start); err != nil {
		t.Fatal(err)
	}
	got, err := rewind.Run(t.Context(), s, start.Add(time.Hour), start.Add(time.Minute))
	if err != nil || got.Removed != 2 || !got.Kept || !got.First.Equal(start.Add(2*time.Minute)) {
		t.Errorf("report %+v, %v, want 2 removed readings", got, err)
	}
	infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime(), Details: true})
	if err != nil || len(infos) != 2 || infos[0].Hold != "audit" || infos[1].Retired.IsZero() {
		t.Errorf("tables %+v, %v", infos, err)
	}
	for _, table := range []grid.Table{held, retired} {
		page, err := s.Read(t.Context(), store.Range{Table: table, Series: series, Window: varve.AllTime()}, nil)
		if err != nil || len(page.Readings) != 2 {
			t.Errorf("%s has %d readings, %v, want 2", table, len(page.Readings), err)
		}
	}
	got, err = rewind.Run(t.Context(), s, start.Add(time.Hour), start.Add(-time.Minute))
	if err != nil || got.Removed != 4 || got.Kept || !got.First.Equal(start) {
		t.Errorf("report %+v, %v, want 4 removed readings and none left", got, err)
	}
}
