package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

// TestTally promises that whatever fields readings have, few or many, each is
// counted once under its name, and that the names end up in order, however the
// readings were grouped.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := make([]string, rapid.SampledFrom([]int{3, few, few + 1, 5 * few}).Draw(t, "names"))
		for i := range pool {
			pool[i] = fmt.Sprint("f", i*7919%1000)
		}
		slices.Sort(pool)
		only := wantedOf(rapid.SliceOfN(rapid.SampledFrom(pool), 0, 2).Draw(t, "only"))
		want, readings := map[string]int64{}, rapid.IntRange(0, 12).Draw(t, "readings")
		parts := [3]tally{{only: only}, {only: only}, {only: only}}
		for i := range readings {
			r := varve.Reading{Series: series, Time: time.Unix(int64(i), 0)}
			for _, name := range pool {
				if rapid.IntRange(0, 2).Draw(t, name) > 0 {
					continue
				}
				r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.IntValue(1)})
				if only == nil || only[name] {
					want[name]++
				}
			}
			parts[rapid.IntRange(0, 2).Draw(t, "part")].add(&r)
		}
		parts[0].merge(parts[1].result())
		parts[0].merge(parts[2].result())
		got := parts[0].result()
		if got.Readings != int64(readings) || len(got.Fields) != len(want) {
			t.Fatalf("%d readings of %d fields, want %d of %d", got.Readings, len(got.Fields), readings, len(want))
		}
		if !slices.IsSortedFunc(got.Fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) }) {
			t.Fatalf("not in order: %+v", got.Fields)
		}
		for i := range got.Fields {
			if f := &got.Fields[i]; f.Count != want[f.Name] || f.Sum.String() != fmt.Sprint(f.Count) {
				t.Fatalf("%s: %d, sum %s, want %d", f.Name, f.Count, &f.Sum, want[f.Name])
			}
		}
	})
}

// whoGivesUp asks for readings, and is gone when it has been handed some.
type whoGivesUp struct {
	after  int
	cancel context.CancelFunc
}

func (w *whoGivesUp) Each(_ context.Context, _ varve.Series, _ varve.Window, each func(*varve.Reading, bool)) error {
	for i := range 2 * w.after {
		if i == w.after {
			w.cancel()
		}
		each(&varve.Reading{Series: series, Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}}}, true)
	}
	return nil
}

// TestCountEnds: when nobody waits any more, counting ends with that, and what
// was counted so far is not taken for all there is.
func TestCountEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := records{raw: &whoGivesUp{after: 3, cancel: cancel}}
	epoch := dayOf(time.Time{}.Unix())
	if got, err := r.count(ctx, series, newRecount(IgnoreResent, tally{}, map[slot]bool{{hourOf(time.Time{}.Unix()), epoch}: true}, nil, nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
}
