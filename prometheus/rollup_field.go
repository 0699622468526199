package prometheus

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/rollup"
)

// readField returns the samples of a query of a single field.
func (r *rollupReader) readField(ctx context.Context, q *rollup.Query) ([]*samples, error) {
	s := r.field(q.Fields[0])
	if s == nil {
		return nil, nil
	}
	width := hour
	if q.Period == rollup.Daily {
		width = day
	}
	var lists [][]rollup.FieldRollup
	part := rollup.FieldQuery{Series: q.Series, Period: q.Period, Field: q.Fields[0], Window: q.Window}
	for part.Window.From.Before(q.Window.To) {
		part.Window.To = part.Window.From.Add(time.Duration(width*rollup.MaxLimit) * time.Millisecond)
		if part.Window.To.After(q.Window.To) {
			part.Window.To = q.Window.To
		}
		err := r.opts.InTurn(ctx, func() error {
			more, err := r.opts.Rollups.ReadField(ctx, part)
			lists = append(lists, more...)
			for i := range more {
				r.added += len(more[i])
			}
			return err
		})
		if err == nil {
			err = r.count(r.takeNew())
		}
		if err != nil {
			return nil, err
		}
		part.Window.From = part.Window.To
	}
	if width == r.buckets.length {
		r.addSingle(s, lists, width)
		return r.series(), nil
	}
	r.fields = map[*samples][]point{s: pointsOf(lists, width, r.buckets.function)}
	return r.finish(ctx)
}

// addSingle adds the samples of windows that consist of one roll-up.
func (r *rollupReader) addSingle(s *samples, lists [][]rollup.FieldRollup, width int64) {
	length := 0
	for _, list := range lists {
		length += len(list)
	}
	s.list = make([]promql.FPoint, 0, length)
	for _, list := range lists {
		for i := range list {
			at := (list[i].Start() + 1) * width
			if at < r.first || at > r.last || (at-r.first)%r.step != 0 {
				continue
			}
			s.list = append(s.list, promql.FPoint{T: at, F: floatOf(&list[i], r.buckets.function)})
		}
	}
}

// floatOf returns the float nearest to an aggregate of one roll-up.
func floatOf(f *rollup.FieldRollup, function string) float64 {
	switch function {
	case "present":
		return 1
	case "last":
		return f.Last().Float64()
	case "min":
		return f.Min().Float64()
	case "max":
		return f.Max().Float64()
	case "sum":
		return f.Sum()
	case "count":
		return float64(f.Count())
	default:
		return f.Mean()
	}
}

// pointsOf returns the parts of roll-ups that an aggregate needs.
func pointsOf(lists [][]rollup.FieldRollup, width int64, function string) (points []point) {
	for _, list := range lists {
		for i := range list {
			p := point{start: list[i].Start() * width, count: list[i].Count()}
			switch function {
			case "avg", "sum":
				list[i].AddTo(&p.sum)
			case "min":
				p.value = list[i].Min()
			case "max":
				p.value = list[i].Max()
			case "last":
				p.value = list[i].Last()
			}
			points = append(points, p)
		}
	}
	return points
}

// rollupSelector returns the selector of a range query that is a single call answered by roll-ups. It
// returns false for other queries, for a selector with an offset, and for absent_over_time. The result
// of absent_over_time does not consist of the samples of its selector.
func (v *queryStorage) rollupSelector(s *parser.EvalStmt) (*parser.VectorSelector, bool) {
	expr := s.Expr
	for {
		inner, ok := expr.(*parser.ParenExpr)
		if !ok {
			break
		}
		expr = inner.Expr
	}
	call, ok := expr.(*parser.Call)
	if !ok || len(v.rollups) != 1 || s.Interval == 0 || len(call.Args) != 1 {
		return nil, false
	}
	ranged, ok := call.Args[0].(*parser.MatrixSelector)
	if !ok || call.Func.Name == absentOverTime {
		return nil, false
	}
	selector, ok := ranged.VectorSelector.(*parser.VectorSelector)
	return selector, ok && selector.OriginalOffset == 0
}

// readMatrix returns the result of a range query that rollupSelector accepts. The result consists of the
// samples of the selector, so that the engine of PromQL is not needed.
func (v *queryStorage) readMatrix(ctx context.Context, s *parser.EvalStmt, selector *parser.VectorSelector) (promql.Matrix, error) {
	hints := storage.SelectHints{Start: s.Start.UnixMilli(), End: s.End.UnixMilli(), Step: s.Interval.Milliseconds()}
	list, err := v.readAll(ctx, &hints, selector.LabelMatchers)
	if err != nil {
		return nil, fmt.Errorf("expanding series: %w", err)
	}
	keepsName := false // of the aggregates from roll-ups, only last_over_time keeps the name of the metric
	for _, b := range v.rollups {
		keepsName = b.function == "last"
	}
	m, total := make(promql.Matrix, 0, len(list)), 0
	for _, series := range list {
		if total += len(series.list); total > v.opts.MaxSamples {
			return nil, promql.ErrTooManySamples("query execution")
		}
		if !keepsName {
			series.metric = labels.NewBuilder(series.metric).Del(nameLabel).Labels()
		}
		m = append(m, promql.Series{Metric: series.metric, Floats: series.list})
	}
	sort.Sort(m) // sorts once more, because list was sorted with the names of metrics, which m may lack
	if m.ContainsSameLabelset() {
		return nil, errors.New("vector cannot contain metrics with the same labelset")
	}
	return m, nil
}
