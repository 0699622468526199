package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve/store"
)

// batchWrite is how many items one request may write, and batchBytes about how
// many bytes they have at most, unless it is one: a request may have 16 MB, and
// JSON writes some bytes as six.
const (
	batchWrite = 25
	batchBytes = 2 << 20
)

// PutAll implements store.Items.
func (s *Store) PutAll(ctx context.Context, items []store.Item) error {
	requests := make(map[store.Key]types.WriteRequest, len(items))
	for i := range items {
		raw, err := encodeItem(&items[i])
		if err != nil {
			return err
		}
		requests[items[i].Key] = types.WriteRequest{PutRequest: &types.PutRequest{Item: raw}}
	}
	return s.writeAll(ctx, requests)
}

// DeleteAll implements store.Items.
func (s *Store) DeleteAll(ctx context.Context, keys []store.Key) error {
	requests := make(map[store.Key]types.WriteRequest, len(keys))
	for _, k := range keys {
		requests[k] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: itemKey(k)}}
	}
	return s.writeAll(ctx, requests)
}

func (s *Store) writeAll(ctx context.Context, requests map[store.Key]types.WriteRequest) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	var some []types.WriteRequest
	bytes := 0
	for _, r := range requests {
		n := 0
		if r.PutRequest != nil {
			n = sizeOf(r.PutRequest.Item)
		}
		if len(some) == batchWrite || len(some) > 0 && bytes+n > batchBytes {
			if err := s.writeSome(ctx, some); err != nil {
				return err
			}
			some, bytes = nil, 0
		}
		some, bytes = append(some, r), bytes+n
	}
	return s.writeSome(ctx, some)
}

// writeSome writes what fits into one request, and again what of it DynamoDB
// did not get to.
func (s *Store) writeSome(ctx context.Context, requests []types.WriteRequest) error {
	for try := 0; len(requests) > 0; try++ {
		if err := pause(ctx, try); err != nil {
			return err
		}
		out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems:           map[string][]types.WriteRequest{s.opts.Registry: requests},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return s.fail("BatchWriteItem", s.opts.Registry, err)
		}
		for i := range out.ConsumedCapacity {
			s.usage.itemWrites.add(halves(&out.ConsumedCapacity[i]))
		}
		requests = out.UnprocessedItems[s.opts.Registry]
	}
	return nil
}
