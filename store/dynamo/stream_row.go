package dynamo

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// A table says itself how the streams in it lie, in a row for each: so that
// they can be read whole without the registry. The rows have a hash key that no
// series has, as tenants begin with a letter or a digit.
const (
	streamRows  = "#streams"
	attrStream  = "_stream"  // tenant/stream
	attrWindow  = "_window"  // milliseconds
	attrShards  = "_shards"  // device → number, of those that are spread
	attrVersion = "_version" // raised by every change
)

// streamRow says in what rows a stream's readings lie in a table.
type streamRow struct {
	tenant, stream string
	window         time.Duration
	shards         map[string]int
	version        int64 // 0: there is no such row
}

// streamRowID returns the sort key of a stream's row: 120 bits of a hash, so
// that no two streams have the same.
func streamRowID(tenant, stream string) string {
	sum := sha256.Sum256([]byte(tenant + "/" + stream))
	return new(big.Int).SetBytes(sum[:15]).String()
}

func (r *streamRow) key() item {
	return item{attrSeries: &strV{Value: streamRows}, attrTS: &numV{Value: streamRowID(r.tenant, r.stream)}}
}

func (r *streamRow) item() item {
	it := r.key()
	it[attrStream] = &strV{Value: r.name()}
	it[attrWindow] = &numV{Value: strconv.FormatInt(r.window.Milliseconds(), 10)}
	it[attrVersion] = &numV{Value: strconv.FormatInt(r.version, 10)}
	if len(r.shards) > 0 {
		shards := item{}
		for device, n := range r.shards {
			shards[device] = &numV{Value: strconv.Itoa(n)}
		}
		it[attrShards] = &mapV{Value: shards}
	}
	return it
}

// parseStreamRow reads a row, and checks it.
func parseStreamRow(it item) (r streamRow, err error) {
	name, _ := it[attrStream].(*strV)
	ts, _ := it[attrTS].(*numV)
	if name == nil || ts == nil {
		return r, fmt.Errorf("a row of %s has no %s", streamRows, attrStream)
	}
	r.tenant, r.stream, _ = strings.Cut(name.Value, "/")
	if s := (varve.Series{Tenant: r.tenant, Stream: r.stream, Device: "d"}); s.Validate().Outcome == varve.Rejected || ts.Value != streamRowID(r.tenant, r.stream) {
		return r, fmt.Errorf("the row %s %s is said to be of stream %.80q", streamRows, ts.Value, name.Value)
	}
	bad := func(attr string) error {
		return fmt.Errorf("the row %s %s (%s): its %s is not valid", streamRows, ts.Value, name.Value, attr)
	}
	ms, there, err := wholeNumber(it, attrWindow)
	r.window = time.Duration(ms) * time.Millisecond
	if !there || err != nil || ms <= 0 || (store.Layout{RowWindow: r.window}).Validate() != nil {
		return r, bad(attrWindow)
	}
	if r.version, there, err = wholeNumber(it, attrVersion); !there || err != nil || r.version < 1 {
		return r, bad(attrVersion)
	}
	if av, there := it[attrShards]; there {
		m, ok := av.(*mapV)
		if !ok {
			return r, bad(attrShards)
		}
		r.shards = make(map[string]int, len(m.Value))
		for device := range m.Value {
			n, _, err := wholeNumber(m.Value, device)
			if err != nil || n < 2 || n > store.MaxShards {
				return r, bad(attrShards)
			}
			r.shards[device] = int(n)
		}
	}
	return r, nil
}

// covers reports whether what is written with a layout is found by the row.
func (r *streamRow) covers(device string, l store.Layout) bool {
	return r.window > 0 && r.window%l.Window() == 0 && max(r.shards[device], 1) >= l.Shards
}

// widen makes the row cover what is written with a layout, too.
func (r *streamRow) widen(device string, l store.Layout) {
	r.window = store.Layout{RowWindow: r.window}.Widen(l).RowWindow
	if l.Shards > max(r.shards[device], 1) {
		if r.shards = maps.Clone(r.shards); r.shards == nil {
			r.shards = map[string]int{}
		}
		r.shards[device] = l.Shards
	}
}

// merge makes the row cover all that another covers.
func (r *streamRow) merge(o *streamRow) {
	r.widen("", store.Layout{RowWindow: o.window})
	for device, n := range o.shards {
		r.widen(device, store.Layout{RowWindow: o.window, Shards: n})
	}
}

// lay makes a table's row of a stream cover all that want covers, durably, and
// returns the row.
func (s *Store) lay(ctx context.Context, t grid.Table, want *streamRow) (*streamRow, error) {
	row := *want
	row.version = 0
	for try := 0; ; try++ {
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
		seen, err := s.putStreamRow(ctx, t, row)
		if err != nil || seen == nil {
			row.version++
			return &row, err
		}
		row = *seen
		if row.merge(want); row.window == seen.window && maps.Equal(row.shards, seen.shards) {
			return seen, nil
		}
	}
}

// putStreamRow writes a row in place of its version, which is 0 if there is to
// be none; or returns the row that there is instead.
func (s *Store) putStreamRow(ctx context.Context, t grid.Table, row streamRow) (seen *streamRow, err error) {
	in := &dynamodb.PutItemInput{
		TableName: aws.String(t.Name()), ConditionExpression: aws.String("attribute_not_exists(" + attrSeries + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
	}
	if row.version > 0 {
		in.ConditionExpression = aws.String("#v=:v")
		in.ExpressionAttributeNames = map[string]string{"#v": attrVersion}
		in.ExpressionAttributeValues = item{":v": &numV{Value: strconv.FormatInt(row.version, 10)}}
	}
	row.version++
	in.Item = row.item()
	var out *dynamodb.PutItemOutput
	err = s.steady(ctx, t, "PutItem", func() (err error) {
		out, err = s.client.PutItem(ctx, in)
		return err
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		s.usage.itemWrites.add(halves(out.ConsumedCapacity))
		return nil, nil
	case !errors.As(err, &failed):
		return nil, s.fail("PutItem", t.Name(), err)
	case len(failed.Item) == 0: // it went meanwhile
		return &streamRow{tenant: row.tenant, stream: row.stream}, nil
	}
	s.usage.itemWrites.refused(failed.Item)
	there, err := parseStreamRow(failed.Item)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return &there, nil
}

// streamRowsOf returns a table's rows of streams, in the order of their names.
// Rows that cannot be read are in bad.
func (s *Store) streamRowsOf(ctx context.Context, t grid.Table) (rows []streamRow, bad []error, err error) {
	in := &dynamodb.QueryInput{
		TableName: aws.String(t.Name()), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		KeyConditionExpression:    aws.String(attrSeries + "=:s"),
		ExpressionAttributeValues: item{":s": &strV{Value: streamRows}},
	}
	for {
		var out *dynamodb.QueryOutput
		err := s.steady(ctx, t, "Query", func() (err error) {
			out, err = s.client.Query(ctx, in)
			return err
		})
		if err != nil {
			return nil, nil, s.fail("Query", t.Name(), err)
		}
		s.usage.itemReads.read(out.ConsumedCapacity)
		for _, it := range out.Items {
			r, err := parseStreamRow(it)
			if err != nil {
				bad = append(bad, err)
				continue
			}
			rows = append(rows, r)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			slices.SortFunc(rows, func(a, b streamRow) int {
				return strings.Compare(a.name(), b.name())
			})
			return rows, bad, nil
		}
	}
}
