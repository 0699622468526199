package prometheus

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/streams"
)

// Defaults of the limits.
const (
	DefaultMaxSeries  = 1000
	DefaultMaxSamples = 10_000_000
	DefaultTimeout    = 2 * time.Minute
)

// Options has the dependencies and the limits of an engine. Readings, Streams, Devices and Now are
// required.
type Options struct {
	Readings *query.Engine
	Rollups  *rollup.Reader // if nil, all queries read readings
	Streams  *streams.Registry
	Devices  *devices.Registry
	Now      func() time.Time
	// InTurn runs a part of a query that uses the store, and may delay the part. If nil, parts run
	// immediately.
	InTurn func(ctx context.Context, do func() error) error
	// Parallel is the number of devices that a query reads at a time. 0 means one per processor.
	Parallel int

	MaxSeries  int           // maximum number of series that a selector selects; 0 means DefaultMaxSeries
	MaxSamples int           // maximum number of samples that a query has in memory; 0 means DefaultMaxSamples
	Timeout    time.Duration // time limit of a query; 0 means DefaultTimeout
	// Lookback is the look-back of all queries. 0 means three times the longest observed interval of
	// the series that a query selects, from 5 minutes to 7 days.
	Lookback time.Duration
	// StreamLookback overrides Lookback for single streams, by name.
	StreamLookback map[string]time.Duration
}

func (o Options) withDefaults() Options {
	if o.InTurn == nil {
		o.InTurn = func(_ context.Context, do func() error) error { return do() }
	}
	if o.Parallel == 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.MaxSeries == 0 {
		o.MaxSeries = DefaultMaxSeries
	}
	if o.MaxSamples == 0 {
		o.MaxSamples = DefaultMaxSamples
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	return o
}

// Engine evaluates queries. It is safe for concurrent use.
type Engine struct {
	opts    Options
	parser  parser.Parser
	promql  *promql.Engine
	surveys surveys
	fleets  fleets

	inMemory atomic.Int64 // number of samples that all queries have reserved
}

// New returns an engine.
func New(o Options) *Engine {
	o = o.withDefaults()
	p := parser.NewParser(parser.Options{})
	return &Engine{
		opts: o, parser: p, surveys: surveys{known: map[seriesKey]survey{}}, fleets: fleets{known: map[string]*fleet{}, named: map[deviceKey]readDevice{}},
		promql: promql.NewEngine(promql.EngineOpts{
			MaxSamples: o.MaxSamples, Timeout: o.Timeout, LookbackDelta: minLookback, EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return defaultSubqueryStep.Milliseconds() }, Parser: p,
		}),
	}
}

// defaultSubqueryStep is the step of subqueries that have none, as in Prometheus.
const defaultSubqueryStep = time.Minute
