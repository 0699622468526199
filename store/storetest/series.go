package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// testSeries checks that Series returns each series of a table on some page, and no series of
// another table.
func testSeries(t *testing.T, e *env) {
	other := tableAt(start.AddDate(0, 0, -7), start)
	e.create(t, weekTable(), other)
	if got, err := seriesOf(t.Context(), e.Store, weekTable()); err != nil || len(got) != 0 {
		t.Errorf("an empty table has the series %v, error %v", got, err)
	}
	want := map[varve.Series]bool{}
	var readings []varve.Reading
	for i := range 1500 {
		name := fmt.Sprintf("d%d", i)
		if i%3 == 0 {
			name = fmt.Sprintf("plant/%d/ä", i)
		}
		r := reading(name, start.Add(time.Duration(i)*time.Second), "1")
		if i%5 == 0 {
			r.Tenant, r.Stream = "acme-2", "weather.raw"
		}
		want[r.Series] = true
		readings = append(readings, r)
	}
	e.write(t, weekTable(), readings...)
	e.write(t, other, reading("elsewhere", start.AddDate(0, 0, -7), "1"))
	got, err := seriesOf(t.Context(), e.Store, weekTable())
	must(t, err)
	for s := range want {
		if !got[s] {
			t.Errorf("series %s is missing", s)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d series, want %d", len(got), len(want))
	}
	if _, err := e.Series(t.Context(), store.SeriesQuery{Table: tableAt(start.AddDate(-1, 0, 0), start)}); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("series of a missing table: %v, want ErrNoTable", err)
	}
	if _, err := e.Series(t.Context(), store.SeriesQuery{Table: weekTable(), After: "nonsense"}); err != nil && !isInvalid(err) {
		t.Errorf("series after an invalid token: %v", err)
	}
}

func isInvalid(err error) bool {
	var e *varve.Error
	return errors.As(err, &e) && e.Failure == varve.Invalid
}

// testSeriesInLayouts checks that Series returns a series with several shards and rows under its
// own name only.
func testSeriesInLayouts(t *testing.T, e *env) {
	e.create(t, weekTable())
	b := store.Batch{Table: weekTable(), Layout: func(varve.Series) store.Layout {
		return store.Layout{Shards: 4, RowWindow: time.Hour}
	}}
	for i := range 40 {
		b.Readings = append(b.Readings, named(reading("spread", start.Add(time.Duration(i)*time.Minute), "1"), fmt.Sprint("id-", i)))
	}
	if res := e.Write(t.Context(), []store.Batch{b}); res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	got, err := seriesOf(t.Context(), e.Store, weekTable())
	must(t, err)
	if len(got) != 1 || !got[device("spread")] {
		t.Errorf("series %v, want %s alone", got, device("spread"))
	}
}

// seriesOf returns all series of a table, page by page.
func seriesOf(ctx context.Context, s store.Store, tb grid.Table) (map[varve.Series]bool, error) {
	all := map[varve.Series]bool{}
	after := ""
	for {
		page, err := s.Series(ctx, store.SeriesQuery{Table: tb, After: after})
		if err != nil {
			return nil, err
		}
		if page.Cost.Requests == 0 {
			return nil, errors.New("a page of series without requests")
		}
		for _, series := range page.Series {
			all[series] = true
		}
		if after = page.Next; after == "" {
			return all, nil
		}
	}
}

func (m *machine) compareSeries(t *rapid.T, tb grid.Table) {
	want, err := seriesOf(context.Background(), m.model, tb)
	if err != nil {
		t.Fatal(err)
	}
	got, err := seriesOf(context.Background(), m.subject, tb)
	if err != nil {
		t.Fatal(err)
	}
	for s := range want {
		if !got[s] {
			t.Fatalf("%s: series %s is missing", tb, s)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: series %v, want %v", tb, got, want)
	}
}
