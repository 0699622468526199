package writer

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/row"
)

// ErasureDelay is how long another process may use its copy of a closed row that was erased.
const ErasureDelay = closedFor

// eraseTries is how often the rows of one row window are reread if another process changes them
// meanwhile.
const eraseTries = 20

// Erase implements store.Eraser. It reads all rows of the window, and deletes or replaces the ones
// with covered readings.
//
// An erased row replaces a closed row whose readings are all erased, as long as its row window has
// other readings. So the remaining readings are found on the same overflow paths as before.
func (w *Writer) Erase(ctx context.Context, e store.Erasure) (erased int64, err error) {
	w.closed.drop(e.Table)
	defer w.closed.drop(e.Table)
	own := e.Table.Window()
	if e.Window.From.Before(own.From) {
		e.Window.From = own.From
	}
	if e.Window.To.After(own.To) {
		e.Window.To = own.To
	}
	if !e.Window.From.Before(e.Window.To) {
		return 0, w.tables.Lifecycle.CheckErasable(ctx, e.Table)
	}
	for shard := range max(e.Layout.Shards, 1) {
		n, err := w.eraseShard(ctx, &e, shard)
		erased += n
		if err != nil {
			return erased, err
		}
	}
	return erased, nil
}

// eraseShard erases the readings of one shard, page by page. It checks the hold before each page.
func (w *Writer) eraseShard(ctx context.Context, e *store.Erasure, shard int) (erased int64, err error) {
	const ms = int64(time.Millisecond)
	ref := row.Ref{Table: e.Table, Series: e.Series, Shard: shard}
	in := rowsInput(ref, e.Window.From.UnixNano()/ms, (e.Window.To.UnixNano()-1)/ms)
	var pending []row.Stored // rows of the last row window, which may continue on the next page
	for {
		if err := w.tables.Lifecycle.CheckErasable(ctx, e.Table); err != nil {
			return erased, err
		}
		rows, next, err := w.readRows(ctx, ref, in)
		if err != nil {
			return erased, err
		}
		pending = append(pending, rows...)
		for len(pending) > 0 {
			end := slices.IndexFunc(pending, func(s row.Stored) bool { return s.MS != pending[0].MS })
			if end < 0 && next != nil {
				break
			}
			if end < 0 {
				end = len(pending)
			}
			n, err := w.eraseWindow(ctx, e, ref, pending[:end])
			erased += n
			if err != nil {
				return erased, err
			}
			pending = pending[end:]
		}
		if in.ExclusiveStartKey = next; next == nil {
			return erased, nil
		}
	}
}

// rowsInput returns the query for the rows from one millisecond to another, both included.
func rowsInput(ref row.Ref, from, to int64) *dynamodb.QueryInput {
	key := row.Address{Ref: ref}.Key()
	return &dynamodb.QueryInput{
		TableName: aws.String(ref.Table.Name()), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		KeyConditionExpression: aws.String(row.AttrSeries + "=:s AND " + row.AttrTS + " BETWEEN :a AND :b"),
		ExpressionAttributeValues: attr.Item{
			":s": key[row.AttrSeries], ":a": &attr.Num{Value: strconv.FormatInt(from, 10)}, ":b": &attr.Num{Value: strconv.FormatInt(to, 10) + row.MaxOverflow},
		},
	}
}

// readRows returns a page of rows, and the key after which the next page begins.
func (w *Writer) readRows(ctx context.Context, ref row.Ref, in *dynamodb.QueryInput) (rows []row.Stored, next attr.Item, err error) {
	var out *dynamodb.QueryOutput
	err = w.tables.Records.RetryNotFound(ctx, ref.Table, "Query", func() (err error) {
		out, err = w.client.Query(ctx, in)
		return err
	})
	if err != nil {
		return nil, nil, w.client.Error("Query", ref.Table.Name(), err)
	}
	w.client.Usage.AddRead(ref.Table.Name(), out.ConsumedCapacity)
	for _, it := range out.Items {
		s, err := row.ParseStored(it)
		if err != nil {
			return nil, nil, row.Damaged(ref.Table, it, err)
		}
		rows = append(rows, s)
	}
	if len(out.LastEvaluatedKey) > 0 {
		next = out.LastEvaluatedKey
	}
	return rows, next, nil
}

// eraseWindow erases readings from a first row and the overflow rows below it. If another process
// changes one of these rows meanwhile, eraseWindow reads all of them once more.
func (w *Writer) eraseWindow(ctx context.Context, e *store.Erasure, ref row.Ref, rows []row.Stored) (erased int64, err error) {
	ref.MS = rows[0].MS
	for try := 0; ; try++ {
		changes, err := planErasure(e, ref, rows)
		if err != nil {
			return erased, err
		}
		changed := false
		for i := range changes {
			done, err := w.applyErasure(ctx, ref, &changes[i])
			if err != nil {
				return erased, err
			}
			if changed = !done; changed {
				break
			}
			erased += changes[i].readings
		}
		if !changed {
			return erased, nil
		}
		if try == eraseTries {
			return erased, varve.Errorf(varve.Unavailable, "rows of %s are changed by writers all the time: retry later", e.Series)
		}
		if err := client.Pause(ctx, try+1); err != nil {
			return erased, err
		}
		if rows, err = w.rereadWindow(ctx, ref); err != nil || len(rows) == 0 {
			return erased, err
		}
	}
}

func (w *Writer) rereadWindow(ctx context.Context, ref row.Ref) (all []row.Stored, err error) {
	in := rowsInput(ref, ref.MS, ref.MS)
	for {
		rows, next, err := w.readRows(ctx, ref, in)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if in.ExclusiveStartKey = next; next == nil {
			return all, nil
		}
	}
}

type erasureOfRow struct {
	old      *row.Stored // the row before the change; if nil, the row is missing
	replace  attr.Item   // the row after the change; if nil, the row is deleted
	readings int64
}

// planErasure returns the changes of the rows of one row window, the deepest rows first. If no
// reading remains, all rows are deleted.
func planErasure(e *store.Erasure, ref row.Ref, rows []row.Stored) (changes []erasureOfRow, err error) {
	covered := make([]map[string]bool, len(rows))
	exist, rest, ttl := map[string]bool{}, 0, rows[0].TTL
	for i := range rows {
		if covered[i], err = rows[i].Covered(e.Covers); err != nil {
			return nil, row.Damaged(e.Table, rows[i].Attrs, err)
		}
		rest += len(rows[i].Keys) - len(covered[i])
		ttl = row.LaterExpiry(ttl, rows[i].TTL)
		exist[rows[i].Overflow] = true
	}
	for i := range rows {
		s, n := &rows[i], len(covered[i])
		c := erasureOfRow{old: s, readings: int64(n)}
		switch {
		case rest == 0:
		case n == 0:
			continue
		case n < len(s.Keys):
			c.replace = s.Without(covered[i], closedBytes)
		case s.Bytes >= closedBytes:
			kept := *s
			kept.TTL = ttl
			c.replace = kept.Without(covered[i], closedBytes)
		}
		changes = append(changes, c)
	}
	if rest > 0 {
		for path := range missingAbove(exist) {
			changes = append(changes, erasureOfRow{replace: row.ErasedItem(row.Address{Ref: ref, Overflow: path}, closedBytes, ttl)})
		}
	}
	slices.SortStableFunc(changes, func(a, b erasureOfRow) int { return cmp.Compare(b.depth(), a.depth()) })
	return changes, nil
}

func (c *erasureOfRow) depth() int {
	if c.old == nil {
		return 0
	}
	return len(c.old.Overflow)
}

// missingAbove returns the paths of missing rows above existing ones. A writer may use its copy of a
// closed row after the row was deleted. Then it writes to a row below the missing one.
func missingAbove(exist map[string]bool) map[string]bool {
	missing := map[string]bool{}
	for path := range exist {
		for n := range len(path) {
			if !exist[path[:n]] {
				missing[path[:n]] = true
			}
		}
	}
	return missing
}

// applyErasure changes or deletes a row. It returns false if the row has changed since it was read.
func (w *Writer) applyErasure(ctx context.Context, ref row.Ref, c *erasureOfRow) (done bool, err error) {
	table := aws.String(ref.Table.Name())
	condition, names, values := "attribute_not_exists(#s)", map[string]string{"#s": row.AttrSeries}, attr.Item(nil)
	if c.old != nil {
		condition, names, values = c.old.Unchanged()
	}
	action := "PutItem"
	if c.replace == nil {
		action = "DeleteItem"
	}
	var used *types.ConsumedCapacity
	err = w.tables.Records.RetryNotFound(ctx, ref.Table, action, func() error {
		if c.replace == nil {
			out, err := w.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: table, Key: attr.Item{row.AttrSeries: c.old.Attrs[row.AttrSeries], row.AttrTS: c.old.Attrs[row.AttrTS]},
				ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
				ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			})
			if err == nil {
				used = out.ConsumedCapacity
			}
			return err
		}
		out, err := w.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: table, Item: c.replace, ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err == nil {
			used = out.ConsumedCapacity
		}
		return err
	})
	if err == nil {
		w.client.Usage.AddWrite(ref.Table.Name(), used)
		return true, nil
	}
	if _, refused := client.IsConditionFailed(err); refused {
		return false, nil
	}
	return false, w.client.Error(action, ref.Table.Name(), err)
}
