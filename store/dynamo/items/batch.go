package items

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/client"
	"golang.org/x/sync/errgroup"
)

// batchWrite is the largest number of items in one write request. batchBytes limits the size of a
// request with several items. DynamoDB accepts requests of 16 MB, and JSON needs six bytes for
// some characters.
const (
	batchWrite = 25
	batchBytes = 2 << 20
)

// PutAll implements store.Items.
func (s *Items) PutAll(ctx context.Context, list []store.Item) error {
	requests := make(map[store.Key]types.WriteRequest, len(list))
	for i := range list {
		raw, err := encode(&list[i])
		if err != nil {
			return err
		}
		requests[list[i].Key] = types.WriteRequest{PutRequest: &types.PutRequest{Item: raw}}
	}
	return s.writeAll(ctx, requests)
}

// PutAbsent implements store.Items. It reads existing items first, many per request. That costs
// less than writes whose conditions fail. DynamoDB has no batch of conditional writes, so the
// missing items are written one by one, in parallel.
func (s *Items) PutAbsent(ctx context.Context, list []store.Item) ([]bool, error) {
	known, err := s.existing(ctx, list)
	if err != nil {
		return nil, err
	}
	written := make([]bool, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.parallel)
	for i := range list {
		if known[list[i].Key] {
			continue
		}
		known[list[i].Key] = true // if several items have one key, only the first is written
		g.Go(func() error {
			err := s.Put(ctx, list[i], store.IfAbsent())
			written[i] = err == nil
			if errors.Is(err, store.ErrCondition) {
				return nil // another process has written the item meanwhile
			}
			return err
		})
	}
	return written, g.Wait()
}

func (s *Items) existing(ctx context.Context, list []store.Item) (map[store.Key]bool, error) {
	keys := make([]store.Key, len(list))
	for i := range list {
		keys[i] = list[i].Key
	}
	found, err := s.Get(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	known := map[store.Key]bool{}
	for i := range found {
		known[found[i].Key] = true
	}
	return known, nil
}

// DeleteAll implements store.Items.
func (s *Items) DeleteAll(ctx context.Context, keys []store.Key) error {
	requests := make(map[store.Key]types.WriteRequest, len(keys))
	for _, k := range keys {
		requests[k] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: Key(k)}}
	}
	return s.writeAll(ctx, requests)
}

// writeAll sends write requests in batches of limited size.
func (s *Items) writeAll(ctx context.Context, requests map[store.Key]types.WriteRequest) error {
	var some []types.WriteRequest
	bytes := 0
	for _, r := range requests {
		n := 0
		if r.PutRequest != nil {
			n = attr.Size(r.PutRequest.Item)
		}
		if len(some) == batchWrite || len(some) > 0 && bytes+n > batchBytes {
			if err := s.writeBatch(ctx, some); err != nil {
				return err
			}
			some, bytes = nil, 0
		}
		some, bytes = append(some, r), bytes+n
	}
	return s.writeBatch(ctx, some)
}

// writeBatch sends one batch, and retries requests that DynamoDB returns as unprocessed.
func (s *Items) writeBatch(ctx context.Context, requests []types.WriteRequest) error {
	for try := 0; len(requests) > 0; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return err
		}
		out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems:           map[string][]types.WriteRequest{s.table: requests},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return s.client.Error("BatchWriteItem", s.table, err)
		}
		for i := range out.ConsumedCapacity {
			s.client.Usage.ItemWrites.Add(&out.ConsumedCapacity[i])
		}
		requests = out.UnprocessedItems[s.table]
	}
	return nil
}
