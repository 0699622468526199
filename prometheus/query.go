package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve"
)

// Query is a PromQL query of one tenant. It is evaluated at Start if Step is 0, and else at each step
// from Start to End.
type Query struct {
	Tenant     string
	Text       string
	Start, End time.Time
	Step       time.Duration
	Lookback   time.Duration // if positive, overrides the look-back of the selected series
	Limit      int           // maximum number of series in the result; 0 means no limit
}

// Result is the value of a query. Its samples count against the limit of all queries until Close.
type Result struct {
	Value    parser.Value
	Warnings []string
	Infos    []string
	// FromRollups is the number of function calls in the query whose results come from roll-ups.
	FromRollups int
	close       func()
}

// Close releases the memory of the result, which must not be used afterward. A second call has no
// effect.
func (r *Result) Close() {
	if r.close != nil {
		r.close()
	}
	r.close = nil
}

// Evaluate returns the result of a query. If the query is invalid, the error is an [Error] of kind
// BadData.
func (e *Engine) Evaluate(ctx context.Context, q Query) (r *Result, err error) {
	expr, err := e.parse(q.Text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	defer cancel()
	v := &queryStorage{Engine: e, ctx: ctx, cancel: cancel, tenant: q.Tenant, rollups: map[*labels.Matcher]bucketed{}, isSingle: countSelectors(expr) == 1, hasSubquery: hasSubquery(expr)}
	v.memory.all, v.memory.limit = &e.inMemory, maxQueries*int64(e.opts.MaxSamples)
	defer func() {
		if r == nil { // the query failed or panicked
			v.release()
		}
	}()
	if r, err = v.evaluate(ctx, q, expr); err != nil {
		return nil, err
	}
	r.truncate(q.Limit)
	return r, nil
}

func countSelectors(expr parser.Expr) (n int) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if _, ok := node.(*parser.VectorSelector); ok {
			n++
		}
		return nil
	})
	return n
}

// evaluate returns the result of a query. The reserved samples of v count until the result is closed.
func (v *queryStorage) evaluate(ctx context.Context, q Query, expr parser.Expr) (r *Result, err error) {
	if q.Lookback <= 0 {
		if q.Lookback, err = v.selectedLookback(ctx, expr); err != nil {
			return nil, failure(err)
		}
	}
	v.lookedBack = cmp.Or(q.Lookback, minLookback)
	opts := promql.NewPrometheusQueryOpts(false, q.Lookback)
	var prepared promql.Query
	if q.Step == 0 {
		prepared, err = v.promql.NewInstantQuery(ctx, v, opts, q.Text, q.Start)
	} else {
		prepared, err = v.promql.NewRangeQuery(ctx, v, opts, q.Text, q.Start, q.End, q.Step)
	}
	if err != nil {
		return nil, badParam("query", err)
	}
	if s, ok := prepared.Statement().(*parser.EvalStmt); ok {
		if err := v.reserveSteps(s); err != nil {
			return nil, failure(err)
		}
		if v.opts.Rollups != nil {
			v.rewrite(s)
		}
		if selector, ok := v.rollupSelector(s); ok {
			m, err := v.readMatrix(ctx, s, selector)
			if err != nil {
				return nil, failure(err)
			}
			return &Result{Value: m, FromRollups: 1, close: v.release}, nil
		}
	}
	res := prepared.Exec(ctx)
	if res.Err != nil {
		prepared.Close()
		return nil, failure(res.Err)
	}
	r = &Result{Value: res.Value, FromRollups: len(v.rollups), close: func() { prepared.Close(); v.release() }}
	r.Warnings, r.Infos = texts(res.Warnings, q.Text)
	return r, nil
}

// selectedLookback returns the longest look-back of the series that instant selectors select. It fails
// for a selector that checkBounded rejects.
func (v *queryStorage) selectedLookback(ctx context.Context, expr parser.Expr) (time.Duration, error) {
	longest := time.Duration(0)
	inRange := map[parser.Node]bool{}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if m, ok := node.(*parser.MatrixSelector); ok {
			inRange[m.VectorSelector] = true
		}
		return nil
	})
	var failed error
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		s, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		if failed = v.checkBounded(s.LabelMatchers); failed != nil || inRange[s] {
			return failed
		}
		var d time.Duration
		d, failed = v.lookbackOf(ctx, s.LabelMatchers)
		longest = max(longest, d)
		return failed
	})
	return longest, failed
}

// lookbackOf returns the longest look-back of the series that matchers select, or 0 if none has
// readings.
func (v *queryStorage) lookbackOf(ctx context.Context, matchers []*labels.Matcher) (time.Duration, error) {
	targets, err := v.boundedTargets(ctx, matchers, false)
	if err != nil || len(targets) == 0 {
		return 0, err
	}
	common := v.configuredLookback(targets[0].series.Stream)
	if common > 0 && !slices.ContainsFunc(targets, func(t target) bool { return v.configuredLookback(t.series.Stream) != common }) {
		return common, nil // no survey can change the result
	}
	all := make([]time.Duration, len(targets))
	err = v.forEach(ctx, len(targets), func(ctx context.Context, i int) (err error) {
		all[i], err = v.lookback(ctx, targets[i].series)
		return err
	})
	return slices.Max(all), err
}

// truncate limits the series of a result, and adds a warning.
func (r *Result) truncate(limit int) {
	if limit == 0 {
		return
	}
	truncated := false
	switch v := r.Value.(type) {
	case promql.Matrix:
		if truncated = len(v) > limit; truncated {
			r.Value = v[:limit]
		}
	case promql.Vector:
		if truncated = len(v) > limit; truncated {
			r.Value = v[:limit]
		}
	}
	if truncated {
		r.Warnings = append(r.Warnings, truncatedWarning)
	}
}

const truncatedWarning = "results truncated due to limit"

// maxAnnotations is the largest number of warnings, and of infos, in an answer.
const maxAnnotations = 10

// texts returns the warnings and the infos of a query as texts, up to maxAnnotations of each.
func texts(a annotations.Annotations, query string) (warnings, infos []string) {
	return a.AsStrings(query, maxAnnotations, maxAnnotations)
}

// Kind classifies an error, as the property "errorType" in answers of Prometheus.
type Kind string

// The kinds of errors.
const (
	BadData   Kind = "bad_data"
	Execution Kind = "execution"
	Timeout   Kind = "timeout"
	Canceled  Kind = "canceled"
	Internal  Kind = "internal"
)

// Error is an error with the kind that Prometheus reports.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

func badParam(name string, err error) error {
	return &Error{BadData, fmt.Errorf("invalid parameter %q: %w", name, err)}
}

// failure returns the error of a query as an [Error].
func failure(err error) error {
	var canceled promql.ErrQueryCanceled
	var timeout promql.ErrQueryTimeout
	kind := kindOf(err)
	switch {
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		kind = Canceled
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		kind = Timeout
	}
	return &Error{kind, err}
}

// kindOf returns the kind of an error of a read. It is Timeout for varve.Busy and varve.Unavailable,
// Internal for varve.Internal, and Execution for all other errors.
func kindOf(err error) Kind {
	var own *varve.Error
	switch {
	case !errors.As(err, &own):
		return Execution
	case own.Failure == varve.Internal:
		return Internal
	case own.Failure == varve.Unavailable, own.Failure == varve.Busy:
		return Timeout
	default:
		return Execution
	}
}
