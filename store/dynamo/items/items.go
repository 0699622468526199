// Package items stores the registry in DynamoDB, as one table of items with two indexes.
//
//	store.Item   codec   DynamoDB item   Items   table "…_registry"
//
// [Items] implements [store.Items]. It also stores the records of package tables. [OpenTable]
// creates the table of the registry, and [CheckTable] only checks it.
//
// These rules always hold:
//
//   - An expired item is never returned, and counts as absent in conditions.
//   - A write that succeeds is durable.
//
// A write that fails may still have been made, and may be retried. If the creation of the table is
// interrupted, the next OpenTable completes it. Items are safe for concurrent use.
package items

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/client"
)

// Items reads and writes the items of a registry. It is safe for concurrent use.
type Items struct {
	client   *client.Client
	table    string
	now      func() time.Time
	parallel int
}

var _ store.Items = (*Items)(nil)

// New returns the Items of the client's registry. One call sends at most "parallel" requests at the
// same time.
func New(c *client.Client, now func() time.Time, parallel int) *Items {
	return &Items{client: c, table: c.Registry(), now: now, parallel: parallel}
}

// batchGet is the largest number of items in one read request.
const batchGet = 100

// Get implements store.Items.
func (s *Items) Get(ctx context.Context, keys []store.Key, consistent bool) (found []store.Item, err error) {
	unique := slices.Clone(keys)
	slices.SortFunc(unique, store.Key.Compare)
	unique = slices.Compact(unique)
	for some := range slices.Chunk(unique, batchGet) {
		if found, err = s.getBatch(ctx, some, consistent, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// GetOne reads an item consistently. It returns nil if the item is missing.
func (s *Items) GetOne(ctx context.Context, k store.Key) (*store.Item, error) {
	found, err := s.getBatch(ctx, []store.Key{k}, true, nil)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// getBatch reads the items of at most batchGet keys and appends them to "found". It retries keys
// that DynamoDB returns as unprocessed.
func (s *Items) getBatch(ctx context.Context, keys []store.Key, consistent bool, found []store.Item) ([]store.Item, error) {
	request := types.KeysAndAttributes{ConsistentRead: aws.Bool(consistent)}
	for _, k := range keys {
		request.Keys = append(request.Keys, Key(k))
	}
	pending := map[string]types.KeysAndAttributes{s.table: request}
	for try := 0; len(pending) > 0; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return nil, err
		}
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: pending, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
		if err != nil {
			return nil, s.client.Error("BatchGetItem", s.table, err)
		}
		for i := range out.ConsumedCapacity {
			s.client.Usage.ItemReads.Add(&out.ConsumedCapacity[i])
		}
		for _, raw := range out.Responses[s.table] {
			it, err := decode(raw)
			if err != nil {
				return nil, err
			}
			if s.isLive(&it) {
				found = append(found, it)
			}
		}
		pending = out.UnprocessedKeys
	}
	return found, nil
}

func (s *Items) isLive(it *store.Item) bool {
	return it.Expires.IsZero() || s.now().Before(it.Expires)
}

// Put implements store.Items.
func (s *Items) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	raw, err := encode(&it)
	if err != nil {
		return err
	}
	x := attr.NewExpression()
	cond, err := s.condition(x, conds)
	if err != nil {
		return err
	}
	in := &dynamodb.PutItemInput{
		TableName: aws.String(s.table), Item: raw, ConditionExpression: cond,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.Placeholders()
	out, err := s.client.PutItem(ctx, in)
	if err != nil {
		return s.writeError("PutItem", it.Key, err)
	}
	s.client.Usage.ItemWrites.Add(out.ConsumedCapacity)
	return nil
}

// Delete implements store.Items.
func (s *Items) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	x := attr.NewExpression()
	cond, err := s.condition(x, conds)
	if err != nil {
		return err
	}
	in := &dynamodb.DeleteItemInput{
		TableName: aws.String(s.table), Key: Key(k), ConditionExpression: cond,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.Placeholders()
	out, err := s.client.DeleteItem(ctx, in)
	if err != nil {
		return s.writeError("DeleteItem", k, err)
	}
	s.client.Usage.ItemWrites.Add(out.ConsumedCapacity)
	return nil
}

// writeError translates the error of a write. A failed condition becomes store.ErrCondition.
func (s *Items) writeError(action string, k store.Key, err error) error {
	if _, failed := client.IsConditionFailed(err); failed {
		s.client.Usage.ItemWrites.AddRefused(nil)
		return fmt.Errorf("item %s %s: %w", k.PK, k.SK, store.ErrCondition)
	}
	return s.client.Error(action, s.table, err)
}
