package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/store"
)

// pageReadings is after how many readings a page without a limit ends.
const pageReadings = 4096

// Read implements store.Reader.
func (s *Store) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	if err := s.enter(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.leave()
	limit := r.Limit
	if limit <= 0 || limit > pageReadings {
		limit = pageReadings
	}
	page := store.Page{Readings: dst[:0]}
	sc, ok := s.scan(r)
	if !ok {
		return page, s.exists(ctx, r.Table)
	}
	for len(page.Readings) <= limit {
		list, err := sc.next(ctx)
		page.Cost = sc.cost
		if err != nil {
			return store.Page{}, err
		}
		if list == nil {
			return page, nil
		}
		page.Readings = append(page.Readings, list...)
	}
	page.Readings, page.More = page.Readings[:limit], true
	return page, nil
}

// scanner reads a series' rows millisecond by millisecond.
type scanner struct {
	s     *Store
	r     store.Range
	in    *dynamodb.QueryInput
	rows  []item // read, and not given out
	ended bool
	cost  store.Cost
}

// scan returns a scanner over a range; false if there can be nothing in it.
func (s *Store) scan(r store.Range) (*scanner, bool) {
	w := r.Window
	own := r.Table.Window()
	if w.From.Before(own.From) {
		w.From = own.From
	}
	if w.To.After(own.To) {
		w.To = own.To
	}
	if !w.From.Before(w.To) {
		return nil, false
	}
	first, last := w.From.UnixNano()/nsPerMs, (w.To.UnixNano()-1)/nsPerMs
	if r.After != nil {
		at := r.After.Time / nsPerMs
		if r.Order == varve.Descending {
			last = min(last, at)
		} else {
			first = max(first, at)
		}
	}
	if first > last {
		return nil, false
	}
	r.Window = w
	in := &dynamodb.QueryInput{
		TableName:              aws.String(r.Table.Name()),
		KeyConditionExpression: aws.String(attrSeries + "=:s AND " + attrTS + " BETWEEN :a AND :b"),
		ExpressionAttributeValues: item{
			":s": &strV{Value: r.Series.String()},
			":a": &numV{Value: strconv.FormatInt(first, 10)},
			":b": &numV{Value: strconv.FormatInt(last, 10) + lastBelow},
		},
		ScanIndexForward:       aws.Bool(r.Order != varve.Descending),
		ConsistentRead:         aws.Bool(r.Consistent),
		ReturnConsumedCapacity: "TOTAL",
	}
	if r.Limit > 0 && r.Limit < 1000 {
		in.Limit = aws.Int32(int32(r.Limit + 2)) // one to know that there is more, one that is cut off by After
	}
	return &scanner{s: s, r: r, in: in}, true
}

// lastBelow is behind every way down from a millisecond.
const lastBelow = ".9999999999999999999999"

// next returns the readings of the next millisecond that has some in the range,
// in order; nil at the end.
func (sc *scanner) next(ctx context.Context) ([]varve.Reading, error) {
	for {
		ms, rows, err := sc.together(ctx)
		if err != nil || rows == nil {
			return nil, err
		}
		list, err := sc.decode(ms, rows)
		if err != nil || len(list) > 0 {
			return list, err
		}
	}
}

// together returns the rows of the next millisecond.
func (sc *scanner) together(ctx context.Context) (ms int64, rows []item, err error) {
	for n := 0; ; {
		for ; n < len(sc.rows); n++ {
			at, ok := tsOf(sc.rows[n])
			if !ok {
				return 0, nil, fmt.Errorf("a row of %s in %s has no %s", sc.r.Series, sc.r.Table, attrTS)
			}
			if n > 0 && at != ms {
				break
			}
			ms = at
		}
		if n < len(sc.rows) || sc.ended {
			rows, sc.rows = sc.rows[:n:n], sc.rows[n:]
			if n == 0 {
				rows = nil
			}
			return ms, rows, nil
		}
		if err := sc.fetch(ctx); err != nil {
			return 0, nil, err
		}
	}
}

func (sc *scanner) fetch(ctx context.Context) error {
	out, err := sc.s.client.Query(ctx, sc.in)
	if err != nil {
		return sc.s.fail("Query", sc.r.Table.Name(), err)
	}
	sc.cost.Add(sc.s.usage.read(out.ConsumedCapacity))
	sc.rows = append(sc.rows, out.Items...)
	sc.in.ExclusiveStartKey = out.LastEvaluatedKey
	sc.ended = len(out.LastEvaluatedKey) == 0
	return nil
}

func tsOf(it item) (ms int64, ok bool) {
	ts, ok := it[attrTS].(*numV)
	if !ok {
		return 0, false
	}
	return msOf(ts.Value)
}

// decode returns the readings of a millisecond's rows that lie in the range.
func (sc *scanner) decode(ms int64, rows []item) ([]varve.Reading, error) {
	var list []varve.Reading
	for _, it := range rows {
		r, err := parseRow(it)
		if err != nil {
			return nil, fmt.Errorf("%s in %s at %d: %w", sc.r.Series, sc.r.Table, ms, err)
		}
		some, err := r.readings(sc.r.Series, ms)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	slices.SortFunc(list, func(a, b varve.Reading) int {
		if sc.r.Order == varve.Descending {
			return b.Position().Compare(a.Position())
		}
		return a.Position().Compare(b.Position())
	})
	return slices.DeleteFunc(list, func(r varve.Reading) bool { return !sc.wants(&r) }), nil
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

// Latest implements store.Reader. By event it reads from the end until it finds
// one that lives; by arrival it reads the series' rows of the table.
func (s *Store) Latest(ctx context.Context, l store.Latest) (best varve.Reading, found bool, cost store.Cost, err error) {
	if err = s.enter(ctx); err != nil {
		return best, false, cost, err
	}
	defer s.leave()
	r := store.Range{Table: l.Table, Series: l.Series, Window: varve.AllTime(), Order: varve.Descending, Consistent: l.Consistent}
	if l.By == varve.ByEvent {
		r.Limit = 1
	}
	sc, ok := s.scan(r)
	if !ok {
		return best, false, cost, s.exists(ctx, l.Table)
	}
	for {
		list, err := sc.next(ctx)
		if err != nil || list == nil {
			return best, found, sc.cost, err
		}
		for i := range list {
			dead := !list[i].Time.After(l.Cutoff) && !list[i].Arrived.After(l.Cutoff)
			if !dead && (!found || l.By.Later(&list[i], &best)) {
				best, found = list[i], true
			}
		}
		if found && l.By == varve.ByEvent {
			return best, true, sc.cost, nil
		}
	}
}

// Estimate implements store.Reader: a request, and half a unit for every 4 KB
// that a series has on the average.
func (s *Store) Estimate(ctx context.Context, r store.Range) (store.Cost, error) {
	if err := s.enter(ctx); err != nil {
		return store.Cost{}, err
	}
	defer s.leave()
	if err := s.exists(ctx, r.Table); err != nil {
		return store.Cost{}, err
	}
	return store.Cost{Requests: 1, Units: 0.5}, nil
}

// exists returns ErrNoTable if there is no such table.
func (s *Store) exists(ctx context.Context, t bucket.Table) error {
	_, err := s.describe(ctx, t.Name())
	return err
}
