package items

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// Query implements store.Items.
func (s *Items) Query(ctx context.Context, q store.ItemQuery) (page store.ItemPage, err error) {
	if q.To != "" && q.From >= q.To {
		return page, nil
	}
	in := s.queryInput(&q)
	for {
		out, err := s.client.Query(ctx, in)
		if err != nil {
			return page, s.client.Error("Query", s.table, err)
		}
		page.Cost.Add(s.client.Usage.ItemReads.AddRead(out.ConsumedCapacity))
		for _, raw := range out.Items {
			it, err := decode(raw)
			if err != nil {
				return page, err
			}
			if in := it.In(q.Index); s.isLive(&it) && (q.To == "" || in.SK < q.To) {
				page.Items = append(page.Items, it)
			}
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
		switch ended := len(out.LastEvaluatedKey) == 0; {
		case q.Limit > 0 && len(page.Items) > q.Limit:
			page.Items, page.More = page.Items[:q.Limit], true
			return page, nil
		case ended:
			return page, nil
		case q.Limit <= 0 && len(page.Items) > 0:
			page.More = true
			return page, nil
		}
	}
}

func (s *Items) queryInput(q *store.ItemQuery) *dynamodb.QueryInput {
	ix := indexOf(q.Index)
	x := attr.NewExpression()
	text := func(v string) string { return x.Value(&attr.Str{Value: v}) }
	cond := x.Name(ix.PK) + "=" + text(q.PK)
	switch {
	case q.From != "" && q.To != "":
		// BETWEEN includes its upper end, so Query removes an item with that key.
		cond += " AND " + x.Name(ix.SK) + " BETWEEN " + text(q.From) + " AND " + text(q.To)
	case q.From != "":
		cond += " AND " + x.Name(ix.SK) + ">=" + text(q.From)
	case q.To != "":
		cond += " AND " + x.Name(ix.SK) + "<" + text(q.To)
	}
	in := &dynamodb.QueryInput{
		TableName:              aws.String(s.table),
		KeyConditionExpression: aws.String(cond),
		ScanIndexForward:       aws.Bool(q.Order != varve.Descending),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.Placeholders()
	if q.Limit > 0 {
		in.Limit = aws.Int32(int32(min(q.Limit, 1000) + 1))
	}
	if ix.Name == "" {
		in.ConsistentRead = aws.Bool(q.Consistent)
	} else {
		in.IndexName = aws.String(ix.Name)
	}
	if q.After != nil {
		in.ExclusiveStartKey = Key(q.After.Key)
		at := q.After.In(q.Index)
		in.ExclusiveStartKey[ix.PK], in.ExclusiveStartKey[ix.SK] = &attr.Str{Value: at.PK}, &attr.Str{Value: at.SK}
	}
	return in
}
