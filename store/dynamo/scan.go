package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// scanner reads the readings of one shard of a series in order.
//
// Rows come in the order of their first millisecond, and a row may hold readings
// of a whole window: they are held back until no further row can have one that
// goes before them. Windows are aligned to the widest of the series, so none
// reaches over its edges.
type scanner struct {
	s      *Store
	r      store.Range
	in     *dynamodb.QueryInput
	window int64           // of rows at the most, in milliseconds
	held   []varve.Reading // in order
	ended  bool
	cost   store.Cost
}

// lastBelow is behind every way down from a millisecond.
const lastBelow = ".9999999999999999999999"

// scan returns a scanner over a range; nil if there can be nothing in it.
func (s *Store) scan(r store.Range, shard int) *scanner {
	first, last, ok := span(&r)
	if !ok {
		return nil
	}
	window := r.Layout.Window().Milliseconds()
	in := &dynamodb.QueryInput{
		TableName:              aws.String(r.Table.Name()),
		KeyConditionExpression: aws.String(attrSeries + "=:s AND " + attrTS + " BETWEEN :a AND :b"),
		ExpressionAttributeValues: item{
			":s": &strV{Value: seriesKey(r.Series, shard)},
			":a": &numV{Value: strconv.FormatInt(first/window*window, 10)},
			":b": &numV{Value: strconv.FormatInt(last, 10) + lastBelow},
		},
		ScanIndexForward:       aws.Bool(r.Order != varve.Descending),
		ConsistentRead:         aws.Bool(r.Consistent),
		ReturnConsumedCapacity: "TOTAL",
	}
	if r.Limit > 0 && r.Limit < 1000 {
		in.Limit = aws.Int32(rowsFor(r.Limit, window))
	}
	return &scanner{s: s, r: r, in: in, window: window}
}

// rowsFor returns how many rows to ask for, for a limit of readings: in rows of
// a millisecond, one that After cuts off, one to know that there is more, and one
// to know that nothing goes before that.
// Wide rows hold several readings mostly; if not, the next page is larger.
func rowsFor(limit int, window int64) int32 {
	if window > 1 {
		return int32(1 + limit/16)
	}
	return int32(limit + 3)
}

// span returns the first and the last millisecond of a range, which it cuts
// down to its table and to what After leaves of it.
func span(r *store.Range) (first, last int64, ok bool) {
	w := &r.Window
	own := r.Table.Window()
	if w.From.Before(own.From) {
		w.From = own.From
	}
	if w.To.After(own.To) {
		w.To = own.To
	}
	if !w.From.Before(w.To) {
		return 0, 0, false
	}
	first, last = w.From.UnixNano()/nsPerMs, (w.To.UnixNano()-1)/nsPerMs
	if r.After != nil {
		at := r.After.Time / nsPerMs
		if r.Order == varve.Descending {
			last = min(last, at)
		} else {
			first = max(first, at)
		}
	}
	return first, last, first <= last
}

// next returns the next readings, in order, each of them once; none at the end.
func (sc *scanner) next(ctx context.Context) ([]varve.Reading, error) {
	for !sc.ended {
		edge, err := sc.fetch(ctx)
		if err != nil {
			return nil, err
		}
		if n := sc.ready(edge); n > 0 {
			out := slices.Clone(sc.held[:n])
			sc.held = slices.Delete(sc.held, 0, n)
			return out, nil
		}
	}
	out := sc.held
	sc.held = nil
	return out, nil
}

// fetch reads a page of rows, and returns the edge: the millisecond, in the
// order of the range, behind which no further row has readings before it.
func (sc *scanner) fetch(ctx context.Context) (edge int64, err error) {
	var out *dynamodb.QueryOutput
	err = sc.s.steady(ctx, sc.r.Table, "Query", func() (err error) {
		out, err = sc.s.client.Query(ctx, sc.in)
		return err
	})
	if err != nil {
		return 0, sc.s.fail("Query", sc.r.Table.Name(), err)
	}
	sc.cost.Add(sc.s.usage.reads.read(out.ConsumedCapacity))
	for _, it := range out.Items {
		if edge, err = sc.take(it); err != nil {
			return 0, err
		}
	}
	if len(out.Items) > 0 {
		slices.SortStableFunc(sc.held, sc.compare)
		sc.held = once(sc.held)
	}
	sc.in.ExclusiveStartKey = out.LastEvaluatedKey
	sc.ended = len(out.LastEvaluatedKey) == 0
	if sc.in.Limit != nil {
		sc.in.Limit = aws.Int32(min(4*aws.ToInt32(sc.in.Limit), 1000))
	}
	if len(out.Items) == 0 { // nothing that would say where
		edge = sc.start()
	}
	return edge, nil
}

// start is the edge before anything was read.
func (sc *scanner) start() int64 {
	if sc.r.Order == varve.Descending {
		return sc.r.Window.To.UnixNano()/nsPerMs + 1
	}
	return 0
}

// take holds a row's readings that lie in the range, and returns the edge after
// it. A damaged row is an error, or skipped if the range says so.
func (sc *scanner) take(it item) (edge int64, err error) {
	ms, below, list, err := rowReadings(sc.r.Series, it)
	if err != nil {
		damaged := damagedRow(sc.r.Table, it, err)
		if sc.r.Damaged == nil {
			return 0, damaged
		}
		sc.r.Damaged(damaged)
		if ms < 0 {
			return sc.start(), nil
		}
	}
	for i := range list {
		if sc.wants(&list[i]) {
			sc.held = append(sc.held, list[i])
		}
	}
	if sc.r.Order != varve.Descending {
		return ms, nil // what follows begins here or later
	}
	block := ms / sc.window * sc.window
	if ms == block && !below {
		return block, nil // the last row of its window: what follows ends here
	}
	return block + sc.window, nil
}

// rowReadings returns the first millisecond of a row, -1 if that cannot be read,
// whether it is below another row, and the readings in it.
func rowReadings(series varve.Series, it item) (ms int64, below bool, list []varve.Reading, err error) {
	ts, ok := it[attrTS].(*numV)
	if !ok {
		return -1, false, nil, fmt.Errorf("it has no %s", attrTS)
	}
	if ms, below, ok = msOf(ts.Value); !ok || ms < 0 {
		return -1, false, nil, fmt.Errorf("its %s is not a millisecond", attrTS)
	}
	r, err := parseRow(it)
	if err == nil {
		list, err = r.readings(series, ms)
	}
	return ms, below, list, err
}

// damagedRow names a row and what is wrong with it.
func damagedRow(t grid.Table, it item, problem error) *store.DamagedRow {
	d := &store.DamagedRow{Table: t.Name(), Problem: problem.Error()}
	if series, ok := it[attrSeries].(*strV); ok {
		d.Series = series.Value
	}
	if ts, ok := it[attrTS].(*numV); ok {
		d.TS = ts.Value
	}
	return d
}

// ready returns how many of the readings held no further row can precede.
func (sc *scanner) ready(edge int64) int {
	n := slices.IndexFunc(sc.held, func(r varve.Reading) bool {
		ms := r.Time.UnixNano() / nsPerMs
		if sc.r.Order == varve.Descending {
			return ms < edge
		}
		return ms >= edge
	})
	if n < 0 {
		return len(sc.held)
	}
	return n
}

func (sc *scanner) compare(a, b varve.Reading) int {
	c := a.Position().Compare(b.Position())
	if sc.r.Order == varve.Descending {
		return -c
	}
	return c
}

// once keeps of copies, which are neighbours, the one that arrived first.
func once(list []varve.Reading) []varve.Reading {
	kept := list[:0]
	for _, r := range list {
		last := len(kept) - 1
		switch {
		case last < 0 || kept[last].Position() != r.Position():
			kept = append(kept, r)
		case r.Arrived.Before(kept[last].Arrived):
			kept[last] = r
		}
	}
	clear(list[len(kept):])
	return kept
}

// wants reports whether a reading lies in the window and beyond After.
func (sc *scanner) wants(r *varve.Reading) bool {
	if !sc.r.Window.Contains(r.Time) {
		return false
	}
	if sc.r.After == nil {
		return true
	}
	order := r.Position().Compare(*sc.r.After)
	return order > 0 && sc.r.Order != varve.Descending || order < 0 && sc.r.Order == varve.Descending
}
