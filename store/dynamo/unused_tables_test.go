package dynamo_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestTables_SkipsUnusedTables lists tables with SkipEmpty. After the first reading of a table,
// every process must list the table.
func TestTables_SkipsUnusedTables(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	var processes [2]*dynamo.Store
	for i := range processes {
		s, err := dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		processes[i] = s
	}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	month := grid.MonthOf(at)
	var used grid.Table
	for _, r := range grid.DefaultPolicy().Ranges(month) {
		tb := grid.Table{Prefix: "t", Range: r, Month: month}
		if err := processes[0].Create(t.Context(), tb, store.Warm); err != nil {
			t.Fatal(err)
		}
		if r.Contains(at) {
			used = tb
		}
	}
	list := func(s *dynamo.Store) (tables []grid.Table) {
		infos, err := s.Tables(t.Context(), store.Filter{Prefixes: []string{"t"}, Window: varve.AllTime(), SkipEmpty: true, Fresh: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range infos {
			tables = append(tables, in.Table)
		}
		return tables
	}
	if got := list(processes[0]); len(got) != 0 {
		t.Errorf("before the first reading: listed %v, want none", got)
	}
	if got := send(t, processes[0], used, sensor(at, "v", varve.IntValue(1))); got != "s" {
		t.Fatal(got)
	}
	for i, s := range processes {
		if got := list(s); len(got) != 1 || got[0] != used {
			t.Errorf("process %d lists %v, want %v", i, got, used)
		}
	}
}
