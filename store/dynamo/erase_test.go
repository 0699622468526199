package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestErase_KeepsPathsOfOtherProcesses erases a closed row. Further readings of its row window go
// to an overflow row below it. Another process still has a cached copy of the closed row, and
// writes a late reading to the overflow row. A second erasure must put an erased row in place of
// the closed one. Then other processes must find the late reading when it is resent, with equal or
// with other values.
func TestErase_KeepsPathsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	first := open(t, url, time.Now)
	registry := fmt.Sprintf("t_registry%d", registries.Load())
	other := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: registry})
	third := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: registry})
	tb := newTable(t, first)
	at := someTime.Truncate(time.Hour)
	layout := store.Layout{RowWindow: time.Hour}
	write := func(s *dynamo.Store, list ...varve.Reading) string {
		t.Helper()
		return sendWith(t, s, store.Batch{Table: tb, Readings: list, Layout: func(varve.Series) store.Layout { return layout }})
	}
	old := named(at, 4, 500, "x")
	if got := write(other, old...); got != "ssss" {
		t.Fatal(got)
	}
	erase := func() int64 {
		t.Helper()
		x := store.Erasure{Table: tb, Series: old[0].Series, Window: varve.Window{From: at, To: at.Add(time.Hour)}, Arrived: someTime, Layout: layout}
		n, err := first.Erase(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := erase(); n != 4 {
		t.Fatalf("%d readings were erased, want 4", n)
	}
	late := sensor(at.Add(time.Minute), "v", varve.StringValue("late"))
	late.Arrived = someTime.Add(time.Second)
	late.ID = old[0].ID
	if got := write(other, late); got != "s" { // stored below the closed row that this process has in its cache
		t.Fatal(got)
	}
	if n := erase(); n != 0 {
		t.Errorf("%d readings were erased once more", n)
	}
	conflict := late
	conflict.Fields = []varve.Field{{Name: "v", Value: varve.StringValue("other")}}
	for _, s := range []*dynamo.Store{first, third} {
		if got := write(s, late) + write(s, conflict); got != "dr" {
			t.Errorf("the late reading and a conflict are %q, want dr", got)
		}
	}
	// After the last reading is erased, no row must be left.
	x := store.Erasure{Table: tb, Series: old[0].Series, Window: varve.AllTime(), Arrived: someTime.Add(time.Hour), Layout: layout}
	if n, err := first.Erase(t.Context(), x); n != 1 || err != nil {
		t.Errorf("%d readings were erased, want 1: %v", n, err)
	}
	page, err := first.Series(t.Context(), store.SeriesQuery{Table: tb})
	for page.Next != "" && err == nil {
		page, err = first.Series(t.Context(), store.SeriesQuery{Table: tb, After: page.Next})
	}
	if err != nil || strings.Contains(fmt.Sprint(page.Series), late.Device) {
		t.Errorf("series %v, %v", page.Series, err)
	}
}

// sendWith writes a batch. It returns the first letter of each outcome.
func sendWith(t *testing.T, s *dynamo.Store, b store.Batch) (letters string) {
	t.Helper()
	res := s.Write(t.Context(), []store.Batch{b})[0]
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	for _, v := range res.Verdicts {
		letters += v.Outcome.String()[:1]
	}
	return letters
}
