package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Query implements store.Items.
func (s *Store) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	if err := s.enter(ctx); err != nil {
		return store.ItemPage{}, err
	}
	defer s.leave()
	return s.query(ctx, q)
}

func (s *Store) query(ctx context.Context, q store.ItemQuery) (page store.ItemPage, err error) {
	if q.To != "" && q.From >= q.To {
		return page, nil
	}
	in := s.itemQuery(&q)
	for {
		out, err := s.client.Query(ctx, in)
		if err != nil {
			return page, s.fail("Query", s.opts.Registry, err)
		}
		page.Cost.Add(s.usage.itemReads.read(out.ConsumedCapacity))
		for _, raw := range out.Items {
			it, err := decodeItem(raw)
			if err != nil {
				return page, err
			}
			if in := it.In(q.Index); s.live(&it) && (q.To == "" || in.SK < q.To) {
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

func (s *Store) itemQuery(q *store.ItemQuery) *dynamodb.QueryInput {
	pk, sk := indexAttrs(q.Index)
	x := newExpression()
	cond := x.name(pk) + "=" + x.value(&strV{Value: q.PK})
	switch {
	case q.From != "" && q.To != "":
		// BETWEEN has its upper end in it: an item there is left out later.
		cond += " AND " + x.name(sk) + " BETWEEN " + x.value(&strV{Value: q.From}) + " AND " + x.value(&strV{Value: q.To})
	case q.From != "":
		cond += " AND " + x.name(sk) + ">=" + x.value(&strV{Value: q.From})
	case q.To != "":
		cond += " AND " + x.name(sk) + "<" + x.value(&strV{Value: q.To})
	}
	in := &dynamodb.QueryInput{
		TableName:                 aws.String(s.opts.Registry),
		KeyConditionExpression:    aws.String(cond),
		ExpressionAttributeNames:  x.names,
		ExpressionAttributeValues: x.values,
		ScanIndexForward:          aws.Bool(q.Order != varve.Descending),
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if q.Limit > 0 {
		in.Limit = aws.Int32(int32(min(q.Limit, 1000) + 1))
	}
	if q.Index == store.Primary {
		in.ConsistentRead = aws.Bool(q.Consistent)
	} else {
		in.IndexName = aws.String(indexName(q.Index))
	}
	if q.After != nil {
		in.ExclusiveStartKey = itemKey(q.After.Key)
		at := q.After.In(q.Index)
		in.ExclusiveStartKey[pk], in.ExclusiveStartKey[sk] = &strV{Value: at.PK}, &strV{Value: at.SK}
	}
	return in
}
