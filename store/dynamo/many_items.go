package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store"
	"golang.org/x/sync/errgroup"
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

// PutAbsent implements store.Items. What exists is read first, many items a
// request, because that costs less than conditions that fail. No request writes
// many items with a condition on each, so the rest are written side by side.
func (s *Store) PutAbsent(ctx context.Context, items []store.Item) ([]bool, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	known, err := s.existing(ctx, items)
	if err != nil {
		return nil, err
	}
	written := make([]bool, len(items))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Parallel)
	for i := range items {
		if known[items[i].Key] {
			continue
		}
		known[items[i].Key] = true // of two with one key, the first counts
		g.Go(func() error {
			err := s.put(ctx, items[i], store.IfAbsent())
			written[i] = err == nil
			if errors.Is(err, store.ErrCondition) {
				return nil // another process wrote it meanwhile
			}
			return err
		})
	}
	return written, g.Wait()
}

// existing returns the keys of the items that exist.
func (s *Store) existing(ctx context.Context, items []store.Item) (map[store.Key]bool, error) {
	keys := make([]store.Key, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	slices.SortFunc(keys, store.Key.Compare)
	known := map[store.Key]bool{}
	for some := range slices.Chunk(slices.Compact(keys), batchGet) {
		found, err := s.getSome(ctx, some, true, nil)
		if err != nil {
			return nil, err
		}
		for i := range found {
			known[found[i].Key] = true
		}
	}
	return known, nil
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
