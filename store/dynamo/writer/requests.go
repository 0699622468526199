package writer

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/row"
)

type result struct {
	stored bool
	// row has the contents of the row after the request, if they are known. If the condition
	// failed and row is nil, the row is missing.
	row *row.Row
}

// insert writes a new row. If the row exists, nothing is stored.
func (w *Writer) insert(ctx context.Context, g *group, at row.Address, entries []row.Entry) (result, error) {
	r, err := row.New(entries)
	if err != nil {
		return result{}, err
	}
	r.TTL = row.Expiry(entries, g.layout.DeleteAfter)
	// The size is recorded if blind updates may follow. It is also recorded if the row is at
	// least half full, so that all writers agree on when it is closed.
	it := r.Item(at, closedBytes, g.existing)
	drops := w.closed.drops()
	var out *dynamodb.PutItemOutput
	err = w.tables.Records.RetryNotFound(ctx, g.Table, "PutItem", func() (err error) {
		out, err = w.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String(g.Table.Name()), Item: it,
			ConditionExpression:                 aws.String("attribute_not_exists(" + row.AttrSeries + ")"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
		})
		return err
	})
	if err != nil {
		return w.refused(ctx, at, "PutItem", drops, err)
	}
	w.client.Usage.AddWrite(g.Table.Name(), out.ConsumedCapacity)
	w.closed.put(drops, at, &r)
	return result{stored: true, row: &r}, nil
}

// updateSeen adds readings to a row that was read before. If the readings of the row have changed since
// then, nothing is stored.
func (w *Writer) updateSeen(ctx context.Context, g *group, at row.Address, seen *row.Row, entries []row.Entry) (result, error) {
	more, err := row.New(entries)
	if err != nil {
		return result{}, err
	}
	more.TTL = row.LaterExpiry(seen.TTL, row.Expiry(entries, g.layout.DeleteAfter))
	x, condition := more.UpdateSeen(seen)
	drops := w.closed.drops()
	res, err := w.update(ctx, at, x, &dynamodb.UpdateItemInput{ConditionExpression: aws.String(condition)})
	if res.stored {
		res.row = seen.With(&more)
		w.closed.put(drops, at, res.row)
	}
	return res, err
}

// updateBlind adds readings to a row that was not read. If the condition of Row.UpdateBlind is false,
// nothing is stored. For example, the row may be missing or closed, or have one of the readings.
func (w *Writer) updateBlind(ctx context.Context, g *group, at row.Address, entries []row.Entry) (result, error) {
	more, err := row.New(entries)
	if err != nil {
		return result{}, err
	}
	more.TTL = row.Expiry(entries, g.layout.DeleteAfter)
	x, condition := more.UpdateBlind(closedBytes)
	return w.update(ctx, at, x, &dynamodb.UpdateItemInput{
		ConditionExpression: aws.String(condition),
		ReturnValues:        types.ReturnValueUpdatedNew, // returns all keys and the size
	})
}

// update sends an update. It returns no error if the condition failed.
func (w *Writer) update(ctx context.Context, at row.Address, x *attr.Expression, in *dynamodb.UpdateItemInput) (result, error) {
	in.TableName = aws.String(at.Table.Name())
	in.Key = at.Key()
	in.UpdateExpression = aws.String(x.Update())
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.Placeholders()
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	drops := w.closed.drops()
	var out *dynamodb.UpdateItemOutput
	err := w.tables.Records.RetryNotFound(ctx, at.Table, "UpdateItem", func() (err error) {
		out, err = w.client.UpdateItem(ctx, in)
		return err
	})
	if err != nil {
		return w.refused(ctx, at, "UpdateItem", drops, err)
	}
	w.client.Usage.AddWrite(at.Table.Name(), out.ConsumedCapacity)
	r, err := w.parse(at, drops, out.Attributes, false)
	return result{stored: true, row: r}, err
}

// refused returns the result of a write whose condition failed, with the contents of the row. For
// any other failure, it returns the error.
func (w *Writer) refused(ctx context.Context, at row.Address, action string, drops int, err error) (result, error) {
	refused, ok := client.IsConditionFailed(err)
	if !ok {
		if err = w.client.Error(action, at.Table.Name(), err); client.IsNoTable(err) {
			w.closed.drop(at.Table)
		}
		if varve.FailureOf(err) == varve.Invalid {
			err = cmp.Or(w.findDamage(ctx, at), err)
		}
		return result{}, err
	}
	w.client.Usage.AddRefusedWrite(at.Table.Name(), refused.Item)
	r, err := w.parse(at, drops, refused.Item, true)
	return result{row: r}, err
}

// parse returns the contents of a row that DynamoDB returned, or nil if it returned none. The
// attributes are complete if "whole" is true.
func (w *Writer) parse(at row.Address, drops int, it attr.Item, whole bool) (*row.Row, error) {
	if len(it) == 0 {
		return nil, nil
	}
	r, err := row.Parse(it)
	r.Whole = whole
	if err != nil {
		return nil, row.Damaged(at.Table, at.Key(), err)
	}
	w.closed.put(drops, at, &r)
	return &r, nil
}

// findDamage reads a row that DynamoDB refused to update, and returns its damage. It returns nil
// if the row is intact or missing, or if the read fails.
func (w *Writer) findDamage(ctx context.Context, at row.Address) error {
	key := at.Key()
	out, err := w.client.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String(at.Table.Name()), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(row.AttrSeries + "=:s AND " + row.AttrTS + "=:t"),
		ExpressionAttributeValues: attr.Item{":s": key[row.AttrSeries], ":t": key[row.AttrTS]},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return nil //nolint:nilerr // the caller returns the refusal instead
	}
	w.client.Usage.AddRead(at.Table.Name(), out.ConsumedCapacity)
	for _, it := range out.Items {
		if _, err := row.Parse(it); err != nil {
			return row.Damaged(at.Table, key, err)
		}
	}
	return nil
}
