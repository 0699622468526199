// Package layouts records in each table the layouts of its streams.
//
//	write   Prepare       widens the stream rows of a table before readings are written
//	read    StreamLayout  merges the stream rows of all tables
//
// A stream row has the row window and the shards of a stream in one table. Readers need it to find
// every reading, even after the registry was lost. A stream row covers a layout if a reader with
// the stream row finds all readings that were written with the layout. To widen a stream row is to
// make it cover more layouts.
//
// [Layouts] reads and widens stream rows, and [Use] is a planned write. [Merged] has the layouts of
// streams over several tables.
//
// These rules always hold:
//
//   - A stream row covers the layout of a reading before the reading is written.
//   - Stream rows only become wider. So a layout that a remembered row covers is also covered by
//     the stored row.
//
// If a stream row cannot be written, the readings that need it are not written either. [Layouts.Prepare] may
// be retried, also after a crash.
package layouts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/row"
	"github.com/varvedb/varve/store/dynamo/tables"
	"golang.org/x/sync/errgroup"
)

// Layouts reads and widens the stream rows of tables.
type Layouts struct {
	client   *client.Client
	tables   *tables.Tables
	parallel int
	known    knownRows
	recent   recentRows
}

// New returns the layouts of all tables. One call sends at most "parallel" requests at the same
// time.
func New(c *client.Client, t *tables.Tables, parallel int) *Layouts {
	return &Layouts{client: c, tables: t, parallel: parallel}
}

// Use is a planned write of a series to a table with a layout.
type Use struct {
	Table  grid.Table
	Series varve.Series
	Layout store.Layout
}

func (u *Use) stream() streamIn { return streamIn{u.Table, u.Series.Tenant, u.Series.Stream} }

// Prepare makes tables ready for writes. It marks them as used in their records, and makes their
// stream rows cover the layouts of the uses. For each use, it returns an error or nil.
func (l *Layouts) Prepare(ctx context.Context, uses []Use) []error {
	failed := make([]error, len(uses))
	unusable := l.confirm(ctx, uses)
	want := map[streamIn]*row.Stream{}
	var last *Use
	for i := range uses {
		u := &uses[i]
		if failed[i] = client.OwnRequest(unusable[u.Table]); failed[i] != nil {
			continue
		}
		if last != nil && u.Table == last.Table && u.Series == last.Series {
			continue // all uses of a series in one write have the same layout
		}
		last = u
		at := u.stream()
		if l.known.covers(at, u.Series.Device, u.Layout) {
			continue
		}
		if want[at] == nil {
			want[at] = &row.Stream{Tenant: at.tenant, Stream: at.stream}
		}
		want[at].Widen(u.Series.Device, u.Layout)
	}
	if len(want) == 0 {
		return failed
	}
	uncovered := l.coverAll(ctx, want)
	for i := range uses {
		if failed[i] == nil {
			failed[i] = client.OwnRequest(uncovered[uses[i].stream()])
		}
	}
	return failed
}

// confirm makes sure that the records mark the tables of the uses as used. It returns errors by table.
func (l *Layouts) confirm(ctx context.Context, uses []Use) map[grid.Table]error {
	failed := map[grid.Table]error{}
	for i := range uses {
		t := uses[i].Table
		if _, confirmed := failed[t]; confirmed {
			continue
		}
		recreated, err := l.tables.Confirmed.Confirm(ctx, t)
		if failed[t] = err; recreated {
			l.known.drop(t)
		}
	}
	return failed
}

// coverAll widens stream rows until they cover the wanted layouts. It returns errors by stream row.
func (l *Layouts) coverAll(ctx context.Context, want map[streamIn]*row.Stream) map[streamIn]error {
	failed := map[streamIn]error{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(l.parallel)
	for at, s := range want {
		g.Go(func() error {
			is, err := l.Cover(ctx, at.table, s)
			if err == nil {
				l.known.put(at, is)
				return nil
			}
			if client.IsNoTable(err) {
				l.Drop(at.table)
			}
			mu.Lock()
			defer mu.Unlock()
			failed[at] = err
			return nil
		})
	}
	_ = g.Wait() // the map "failed" has each error, by stream row
	return failed
}

// Drop removes everything that is remembered about a table, which may be missing or recreated.
func (l *Layouts) Drop(t grid.Table) {
	l.tables.Confirmed.Drop(t)
	l.known.drop(t)
}

// Rows returns the known number of stream rows in a table. Other processes may have written more.
func (l *Layouts) Rows(t grid.Table) int64 { return l.known.count(t) }

// Cover widens the stored stream row of a table until it covers a layout, and returns the row.
func (l *Layouts) Cover(ctx context.Context, t grid.Table, want *row.Stream) (*row.Stream, error) {
	next := *want
	next.Version = 0
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return nil, err
		}
		stored, err := l.put(ctx, t, next)
		if err != nil || stored == nil {
			next.Version++
			return &next, err
		}
		next = *stored
		if next.Merge(want); next.HasLayoutOf(stored) {
			return stored, nil
		}
	}
}

// put writes s if the stored stream row still has the version of s. Version 0 means that the row is
// missing. If the stored row has another version, put returns it instead.
func (l *Layouts) put(ctx context.Context, t grid.Table, s row.Stream) (stored *row.Stream, err error) {
	in := &dynamodb.PutItemInput{
		TableName: aws.String(t.Name()), ConditionExpression: aws.String("attribute_not_exists(" + row.AttrSeries + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
	}
	if s.Version > 0 {
		in.ConditionExpression = aws.String("#v=:v")
		in.ExpressionAttributeNames = map[string]string{"#v": row.AttrVersion}
		in.ExpressionAttributeValues = attr.Item{":v": &attr.Num{Value: strconv.FormatInt(s.Version, 10)}}
	}
	s.Version++
	in.Item = s.Item()
	var out *dynamodb.PutItemOutput
	err = l.tables.Records.RetryNotFound(ctx, t, "PutItem", func() (err error) {
		out, err = l.client.PutItem(ctx, in)
		return err
	})
	refused, isRefused := client.IsConditionFailed(err)
	switch {
	case err == nil:
		l.client.Usage.ItemWrites.Add(out.ConsumedCapacity)
		return nil, nil
	case !isRefused:
		return nil, l.client.Error("PutItem", t.Name(), err)
	case len(refused.Item) == 0: // the row was deleted meanwhile
		return &row.Stream{Tenant: s.Tenant, Stream: s.Stream}, nil
	}
	l.client.Usage.ItemWrites.AddRefused(refused.Item)
	is, err := row.ParseStream(refused.Item)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return &is, nil
}

// Read returns the stream rows of a table, ordered by name. It returns the errors of unreadable
// rows in "bad".
func (l *Layouts) Read(ctx context.Context, t grid.Table) (rows []row.Stream, bad []error, err error) {
	in := &dynamodb.QueryInput{
		TableName: aws.String(t.Name()), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		KeyConditionExpression:    aws.String(row.AttrSeries + "=:s"),
		ExpressionAttributeValues: attr.Item{":s": &attr.Str{Value: row.StreamsKey}},
	}
	for {
		var out *dynamodb.QueryOutput
		err := l.tables.Records.RetryNotFound(ctx, t, "Query", func() (err error) {
			out, err = l.client.Query(ctx, in)
			return err
		})
		if err != nil {
			return nil, nil, l.client.Error("Query", t.Name(), err)
		}
		l.client.Usage.ItemReads.AddRead(out.ConsumedCapacity)
		for _, it := range out.Items {
			s, err := row.ParseStream(it)
			if err != nil {
				bad = append(bad, err)
				continue
			}
			rows = append(rows, s)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			slices.SortFunc(rows, func(a, b row.Stream) int { return strings.Compare(a.Name(), b.Name()) })
			return rows, bad, nil
		}
	}
}
