package reader

import (
	"context"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/row"
)

const nsPerMs = 1_000_000

// scanner reads the readings of one shard of a series in order.
//
// Rows are ordered by their first millisecond, and the readings of a row cover a row window. The
// scanner delays readings until no later row can have an earlier reading. Every row window of the
// series divides the widest one, so each row is within one widest row window.
type scanner struct {
	rd      *Reader
	r       store.Range
	in      *dynamodb.QueryInput
	window  int64           // widest row window of the series in milliseconds
	waiting []varve.Reading // readings that were read and cannot be returned yet, in order
	ended   bool
	cost    store.Cost
}

// openScanner returns a scanner over a range, or nil if the range is empty.
func (rd *Reader) openScanner(r store.Range, shard int) *scanner {
	first, last, ok := clip(&r)
	if !ok {
		return nil
	}
	window := r.Layout.Window().Milliseconds()
	begin := row.Address{Ref: row.Ref{Table: r.Table, Series: r.Series, Shard: shard, MS: first / window * window}}
	key := begin.Key()
	in := &dynamodb.QueryInput{
		TableName:              aws.String(r.Table.Name()),
		KeyConditionExpression: aws.String(row.AttrSeries + "=:s AND " + row.AttrTS + " BETWEEN :a AND :b"),
		ExpressionAttributeValues: attr.Item{
			":s": key[row.AttrSeries],
			":a": key[row.AttrTS],
			":b": &attr.Num{Value: strconv.FormatInt(last, 10) + row.MaxOverflow},
		},
		ScanIndexForward:       aws.Bool(r.Order != varve.Descending),
		ConsistentRead:         aws.Bool(r.Consistent),
		ReturnConsumedCapacity: "TOTAL",
	}
	if r.Limit > 0 && r.Limit < 1000 {
		in.Limit = aws.Int32(rowsFor(r.Limit, window))
	}
	return &scanner{rd: rd, r: r, in: in, window: window}
}

// rowsFor returns the number of rows that the first page requests for a limit of readings. Rows of
// a millisecond mostly have one reading, so it adds three rows to the limit. Range.After may
// exclude the reading of one row. The other two rows show that the last readings are in order, and
// that more readings follow. Rows of a longer window mostly have several readings. If they do not, the
// next page is larger.
func rowsFor(limit int, window int64) int32 {
	if window > 1 {
		return int32(1 + limit/16)
	}
	return int32(limit + 3)
}

// clip reduces a range to the window of its table, and to the times that Range.After does not
// exclude. It returns the first and the last millisecond, or false if the range is empty.
func clip(r *store.Range) (first, last int64, ok bool) {
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

// next returns the next readings in order, each once. At the end, it returns an empty slice.
func (sc *scanner) next(ctx context.Context) ([]varve.Reading, error) {
	for !sc.ended {
		edge, err := sc.readPage(ctx)
		if err != nil {
			return nil, err
		}
		if n := sc.countReady(edge); n > 0 {
			out := slices.Clone(sc.waiting[:n])
			sc.waiting = slices.Delete(sc.waiting, 0, n)
			return out, nil
		}
	}
	out := sc.waiting
	sc.waiting = nil
	return out, nil
}

func (sc *scanner) isDone() bool { return sc.ended && len(sc.waiting) == 0 }

// readPage reads a page of rows, and returns the edge in milliseconds. In ascending order, all readings
// of later rows are at the edge or later. In descending order, they are earlier than the edge.
func (sc *scanner) readPage(ctx context.Context) (edge int64, err error) {
	var out *dynamodb.QueryOutput
	err = sc.rd.tables.RetryNotFound(ctx, sc.r.Table, "Query", func() (err error) {
		out, err = sc.rd.client.Query(ctx, sc.in)
		return err
	})
	if err != nil {
		return 0, sc.rd.client.Error("Query", sc.r.Table.Name(), err)
	}
	sc.cost.Add(sc.rd.client.Usage.AddRead(sc.r.Table.Name(), out.ConsumedCapacity))
	for _, it := range out.Items {
		if edge, err = sc.addRow(it); err != nil {
			return 0, err
		}
	}
	if len(out.Items) > 0 {
		slices.SortStableFunc(sc.waiting, sc.compare)
		sc.waiting = dropCopies(sc.waiting)
	}
	sc.in.ExclusiveStartKey = out.LastEvaluatedKey
	sc.ended = len(out.LastEvaluatedKey) == 0
	if sc.in.Limit != nil {
		sc.in.Limit = aws.Int32(min(4*aws.ToInt32(sc.in.Limit), 1000))
	}
	if len(out.Items) == 0 { // the edge is unknown without a row
		edge = sc.firstEdge()
	}
	return edge, nil
}

// firstEdge returns the edge with which countReady returns 0. It applies until the first row is read.
func (sc *scanner) firstEdge() int64 {
	if sc.r.Order == varve.Descending {
		return sc.r.Window.To.UnixNano()/nsPerMs + 1
	}
	return 0
}

// addRow adds the readings of a row that are in the range to sc.waiting. It returns the edge after the
// row. If the row is damaged, addRow fails, or skips the row if Range.Damaged is set.
func (sc *scanner) addRow(it attr.Item) (edge int64, err error) {
	ms, overflow, list, err := row.ReadingsOf(sc.r.Series, it)
	if err != nil {
		damaged := row.Damaged(sc.r.Table, it, err)
		if sc.r.Damaged == nil {
			return 0, damaged
		}
		sc.r.Damaged(damaged)
		if ms < 0 {
			return sc.firstEdge(), nil
		}
	}
	for i := range list {
		if sc.isWanted(&list[i]) {
			sc.waiting = append(sc.waiting, list[i])
		}
	}
	if sc.r.Order != varve.Descending {
		return ms, nil // later rows begin at this millisecond or after it
	}
	begin := ms / sc.window * sc.window
	if ms == begin && !overflow {
		return begin, nil // this is the last row of its row window, so later rows end before the row window begins
	}
	return begin + sc.window, nil
}

// countReady returns the number of readings in sc.waiting that can be returned now, because no later
// row can have a reading that belongs before them.
func (sc *scanner) countReady(edge int64) int {
	n := slices.IndexFunc(sc.waiting, func(r varve.Reading) bool {
		ms := r.Time.UnixNano() / nsPerMs
		if sc.r.Order == varve.Descending {
			return ms < edge
		}
		return ms >= edge
	})
	if n < 0 {
		return len(sc.waiting)
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

// dropCopies removes all copies of a reading except the one that arrived first. Copies must be next
// to each other.
func dropCopies(list []varve.Reading) []varve.Reading {
	unique := list[:0]
	for _, r := range list {
		last := len(unique) - 1
		switch {
		case last < 0 || unique[last].Position() != r.Position():
			unique = append(unique, r)
		case r.Arrived.Before(unique[last].Arrived):
			unique[last] = r
		}
	}
	clear(list[len(unique):])
	return unique
}

// isWanted reports whether a reading is in Range.Window and after Range.After, in the order of the range.
func (sc *scanner) isWanted(r *varve.Reading) bool {
	if !sc.r.Window.Contains(r.Time) {
		return false
	}
	if sc.r.After == nil {
		return true
	}
	order := r.Position().Compare(*sc.r.After)
	return order > 0 && sc.r.Order != varve.Descending || order < 0 && sc.r.Order == varve.Descending
}
