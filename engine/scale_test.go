package engine

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// scaleRun simulates two processes that scale the tables of one deployment.
type scaleRun struct {
	url     string
	now     time.Time
	table   grid.Table
	stores  []*dynamo.Store
	runs    []func(*testing.T)
	changes []store.CapacityChange // changes of capacity in the last run
}

func newScaleRun(t *testing.T) *scaleRun {
	r := &scaleRun{url: dynamotest.Dynoxide.Start(t), now: time.Now()}
	for _, holder := range []string{"one", "two"} {
		r.addProcess(t, holder)
	}
	text := `{"billing":"provisioned","capacity":{"hot":{"read":1,"write":1},"warm":{"read":1,"write":1}},"capacity_max":{"hot":{"read":10,"write":100}}}`
	template := store.Item{Key: dynamo.TemplateKey(), Attrs: map[string]varve.Value{dynamo.TemplateAttr: varve.StringValue(text)}}
	if err := r.stores[0].Put(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	month := grid.MonthOf(r.now)
	ranges := grid.DefaultPolicy().Ranges(month)
	r.table = grid.Table{Prefix: "t", Range: ranges[len(ranges)-1], Month: month}
	if err := r.stores[0].Create(t.Context(), r.table, store.Hot); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *scaleRun) addProcess(t *testing.T, holder string) {
	clock := func() time.Time { return r.now }
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(r.url), Registry: "t_registry", Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	leases := &lease.Manager{Items: s, Now: clock, Holder: holder, TTL: scaleTTL}
	r.stores = append(r.stores, s)
	r.runs = append(r.runs, func(t *testing.T) {
		t.Helper()
		r.changes = nil
		if err := scaleOnce(t.Context(), s, leases, func(c store.CapacityChange) { r.changes = append(r.changes, c) }); err != nil {
			t.Fatal(err)
		}
	})
}

// useRows writes a number of readings with each process, and advances the clock by ten seconds.
func (r *scaleRun) useRows(t *testing.T, rows int) {
	t.Helper()
	for _, s := range r.stores {
		b := store.Batch{Table: r.table}
		for range rows {
			r.now = r.now.Add(time.Millisecond)
			one := varve.Reading{
				Series: varve.Series{Tenant: "acme", Stream: "weather", Device: "d"}, Arrived: r.now,
				Time:   r.table.Range.Window().From.Add(time.Duration(r.now.UnixNano() % int64(time.Hour))),
				Fields: []varve.Field{{Name: "v", Value: varve.IntValue(r.now.UnixNano())}},
			}
			if v := one.Normalize(); v.Outcome == varve.Rejected {
				t.Fatal(v)
			}
			b.Readings = append(b.Readings, one)
		}
		if res := s.Write(t.Context(), []store.Batch{b}); res[0].Err != nil {
			t.Fatal(res[0].Err)
		}
	}
	r.now = r.now.Add(10 * time.Second)
}

// TestScaleOnce_OnlyHolderScales checks that two processes both report their use, and that only the
// holder of the lease changes tables. If the holder stops, the other process must continue.
func TestScaleOnce_OnlyHolderScales(t *testing.T) {
	t.Parallel()
	r := newScaleRun(t)
	runOne, runTwo := r.runs[0], r.runs[1]
	runOne(t)
	runTwo(t)
	r.useRows(t, 100)
	if runTwo(t); len(r.changes) > 0 {
		t.Errorf("without the lease: %+v", r.changes)
	}
	runOne(t)
	if len(r.changes) != 1 || r.changes[0].Table != r.table || r.changes[0].WriteFrom != 1 || r.changes[0].WriteTo < 25 || r.changes[0].WriteTo > 32 {
		t.Fatalf("with the lease: %+v, want about 20 units a second at 70 %%", r.changes)
	}
	runTwo(t) // records the lease, so that a later run can find it unchanged
	r.now = r.now.Add(scaleTTL + time.Second)
	runTwo(t)
	r.useRows(t, 300)
	if runTwo(t); len(r.changes) != 1 || r.changes[0].WriteTo <= 32 {
		t.Errorf("after the holder has stopped: %+v", r.changes)
	}
}
