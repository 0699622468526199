// Package reader reads readings from the rows of tables.
//
//	shard 0  query ── scanner ─┐
//	shard 1  query ── scanner ─┼─ merge ── Read, Latest
//	shard 2  query ── scanner ─┘
//
// A scanner returns the readings of one shard in order. A merge combines the shards of a series.
// [Reader] implements [store.Reader]. [Reader.Scan] reads all rows of a table for checks, at a
// [Pace].
//
// These rules always hold:
//
//   - Each reading is returned once, as the copy that arrived first.
//   - A read fails at a damaged row, unless Range.Damaged is set. Then it skips the row and reports it
//     to that function.
//
// A failed read changes nothing, and may be retried. A Reader is safe for concurrent use.
package reader

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/wait"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/tables"
)

// pageReadings is the largest number of readings in a page.
const pageReadings = 4096

// Reader reads readings. It is safe for concurrent use.
type Reader struct {
	client *client.Client
	tables *tables.Records
	admin  *admin.Admin
}

var _ store.Reader = (*Reader)(nil)

// New returns a reader.
func New(c *client.Client, t *tables.Records, a *admin.Admin) *Reader {
	return &Reader{client: c, tables: t, admin: a}
}

// Read implements store.Reader.
func (rd *Reader) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	limit := r.Limit
	if limit <= 0 || limit > pageReadings {
		limit = pageReadings
	}
	page := store.Page{Readings: dst[:0]}
	m := rd.openMerge(r)
	if m == nil {
		return page, rd.admin.Exists(ctx, r.Table.Name())
	}
	for len(page.Readings) <= limit {
		list, err := m.next(ctx)
		page.Cost = m.cost()
		if err != nil {
			return store.Page{}, err
		}
		if len(list) == 0 {
			return page, nil
		}
		page.Readings = append(page.Readings, list...)
	}
	page.Split = page.Readings[limit].Position().IsVersionOf(page.Readings[limit-1].Position())
	page.Readings, page.More = page.Readings[:limit], true
	return page, nil
}

// Latest implements store.Reader. By event time, it reads backward until it finds a reading that is
// not expired. By arrival, it reads all rows of the series in the table.
func (rd *Reader) Latest(ctx context.Context, l store.Latest) (best varve.Reading, found bool, cost store.Cost, err error) {
	r := store.Range{
		Table: l.Table, Series: l.Series, Window: varve.AllTime(), Order: varve.Descending,
		Consistent: l.Consistent, Layout: l.Layout, Damaged: l.Damaged,
	}
	if l.By == varve.ByEvent {
		r.Limit = 1
	}
	m := rd.openMerge(r)
	if m == nil {
		return best, false, cost, rd.admin.Exists(ctx, l.Table.Name())
	}
	// higher is the position of the live reading before the current one in the descending order.
	var higher varve.Position
	for {
		list, err := m.next(ctx)
		if err != nil || len(list) == 0 {
			return best, found, m.cost(), err
		}
		for i := range list {
			if !list[i].Alive(l.Cutoff) {
				continue
			}
			at := list[i].Position()
			superseded := at.IsVersionOf(higher)
			if higher = at; !superseded && (!found || l.By.Later(&list[i], &best)) {
				best, found = list[i], true
			}
		}
		if found && l.By == varve.ByEvent {
			return best, true, m.cost(), nil
		}
	}
}

// Estimate implements store.Reader with a lower bound. It counts one request per shard, with the
// lowest cost that DynamoDB bills, because the size of a series is unknown before it is read.
func (rd *Reader) Estimate(ctx context.Context, r store.Range) (store.Cost, error) {
	if err := rd.admin.Exists(ctx, r.Table.Name()); err != nil {
		return store.Cost{}, err
	}
	shards := max(r.Layout.Shards, 1)
	units := 0.5
	if r.Consistent {
		units = 1
	}
	return store.Cost{Requests: shards, Units: units * float64(shards)}, nil
}

// scanRows is the number of rows that each request of Scan reads. A larger number could use up all
// units of a table in one burst.
const scanRows = 500

// Scan reads all rows of a table, and calls the function "each" for every row, with 0 units. After
// every request, it also calls that function with a nil row and the units that the request used.
func (rd *Reader) Scan(ctx context.Context, t grid.Table, pace Pace, each func(it attr.Item, units float64)) error {
	in := &dynamodb.ScanInput{
		TableName: aws.String(t.Name()), Limit: aws.Int32(scanRows), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for {
		var out *dynamodb.ScanOutput
		err := rd.tables.RetryNotFound(ctx, t, "Scan", func() (err error) {
			out, err = rd.client.Scan(ctx, in)
			return err
		})
		if err != nil {
			return rd.client.Error("Scan", t.Name(), err)
		}
		cost := rd.client.Usage.AddRead(t.Name(), out.ConsumedCapacity)
		for _, it := range out.Items {
			each(it, 0)
		}
		each(nil, cost.Units)
		if err := pace.wait(ctx, cost.Units); err != nil {
			return err
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// Pace limits the read units of a Scan.
type Pace struct {
	Rate float64 // largest number of read units per second; 0 means no limit
	// Wait, if set, is called instead of waiting in real time.
	Wait func(context.Context, time.Duration) error
}

func (p Pace) wait(ctx context.Context, units float64) error {
	if p.Rate <= 0 {
		return nil
	}
	if p.Wait == nil {
		p.Wait = wait.For
	}
	return p.Wait(ctx, time.Duration(units/p.Rate*float64(time.Second)))
}
