package doors

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/kinesis"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/tests/varvetest"
)

var errPartitioned = errors.New("the registry is out of reach")

// middle returns the middle of two hash keys.
func middle(from, to string) string {
	a, _ := new(big.Int).SetString(from, 10)
	b, _ := new(big.Int).SetString(to, 10)
	return new(big.Int).Rsh(a.Add(a, b), 1).String()
}

// world is an engine whose registry several processes share, with a clock that tests advance.
type world struct {
	t      *testing.T
	engine *engine.Engine
	ahead  atomic.Int64 // difference between the clock and the real time, in ns
	loaded aws.Config
}

func newWorld(t *testing.T, loaded aws.Config) *world {
	t.Helper()
	w := &world{t: t, loaded: loaded}
	var err error
	w.engine, err = engine.Open(t.Context(), engine.Options{Store: mem.New(w.now), Now: w.now, Rejects: rejects.Options{Limit: 1000, Retention: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// process is a consumer that can lose its connection to the registry. Then its calls of Get, Put and
// Query fail.
type process struct {
	store.Items
	*kinesis.Consumer
	cut     atomic.Bool // whether the registry is out of reach
	metrics *prometheus.Registry
}

func (p *process) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if p.cut.Load() {
		return nil, errPartitioned
	}
	return p.Items.Get(ctx, keys, consistent)
}

func (p *process) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if p.cut.Load() {
		return errPartitioned
	}
	return p.Items.Put(ctx, it, conds...)
}

func (p *process) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	if p.cut.Load() {
		return store.ItemPage{}, errPartitioned
	}
	return p.Items.Query(ctx, q)
}

func (w *world) start(holder string) *process {
	w.t.Helper()
	p := &process{Items: w.engine.Store, metrics: prometheus.NewRegistry()}
	in := ingest.New(ingest.Options{Router: w.engine.Router, Budget: wire.NewBudget(1 << 20), Rejects: w.engine.Rejects, Door: "kinesis", Now: w.now})
	p.Consumer = kinesis.Start(kinesis.Options{
		Client: awskinesis.NewFromConfig(w.loaded), Stream: "readings", Items: p, Holder: holder, Now: w.now, Every: 200 * time.Millisecond,
		Receiver: &records.Receiver{Ingester: in, Now: w.now},
		Target:   &records.Target{Format: wire.JSON, Defaults: wire.Defaults{Tenant: varve.DefaultTenant, Stream: "weather"}},
		Metrics:  consumer.NewMetrics(p.metrics, "kinesis"), Failed: func(err error, _ time.Duration) { w.t.Logf("%s: %v", holder, err) },
	})
	var once sync.Once
	w.t.Cleanup(func() { once.Do(p.Close) })
	return p
}

// shards returns the number of shards that the process reads.
func (p *process) shards(t *testing.T) int {
	t.Helper()
	all, err := p.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(f *dto.MetricFamily) bool { return f.GetName() == "varve_ingest_shards" })
	return int(all[i].GetMetric()[0].GetGauge().GetValue())
}

func (w *world) stored() (n int) {
	w.t.Helper()
	rows, err := w.engine.Query.Open(w.t.Context(), query.Query{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d1"},
		Window: varve.Window{From: startOfReadings, To: startOfReadings.Add(time.Hour)}, Consistent: true,
	})
	if err != nil {
		return 0 // the stream does not exist yet
	}
	defer rows.Close()
	for {
		list, err := rows.Next(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if len(list) == 0 {
			return n
		}
		n += len(list)
	}
}

// TestKinesis_SharesShards runs two consumers on one stream. They must share its shards. If one of them
// loses its connection to the registry, the other must read all shards.
func TestKinesis_SharesShards(t *testing.T) {
	t.Parallel()
	_, loaded := startEmulator(t, "kinesis")
	s := newShards(t, loaded, 4)
	w := newWorld(t, loaded)
	a := w.start("a")
	s.putReadings(0, 100)
	await := func(what string, is func() bool) {
		t.Helper()
		if !varvetest.Eventually(is) {
			t.Fatalf("%s: a reads %d shards, b others; %d readings", what, a.shards(t), w.stored())
		}
	}
	await("a alone", func() bool { return a.shards(t) == 4 && w.stored() == 100 })
	b := w.start("b")
	await("shared", func() bool { return a.shards(t) == 2 && b.shards(t) == 2 })
	s.putReadings(100, 200)
	await("both read", func() bool { return w.stored() == 200 })
	b.cut.Store(true)
	s.putReadings(200, 300)
	next := time.Now()
	await("a took over", func() bool {
		if time.Now().After(next) { // the clock runs fast, so that b's leases end; a still has time to extend its own
			w.ahead.Add(int64(5 * time.Second))
			next = time.Now().Add(time.Second)
		}
		return a.shards(t) == 4 && w.stored() == 300
	})
	b.cut.Store(false)
	await("b is back", func() bool { return a.shards(t) == 2 && b.shards(t) == 2 })
	b.Close()
	await("b left", func() bool { return a.shards(t) == 4 })
	s.putReadings(300, 400)
	await("a read all", func() bool { return w.stored() == 400 })
}
