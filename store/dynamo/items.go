package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Names of an item's attributes that are not its own.
const (
	attrPK  = "pk"
	attrSK  = "sk"
	attrExp = "ttl"
)

// indexAttrs returns the names of an index's keys.
func indexAttrs(ix store.Index) (pk, sk string) {
	switch ix {
	case store.GSI1:
		return "gsi1pk", "gsi1sk"
	case store.GSI2:
		return "gsi2pk", "gsi2sk"
	default:
		return attrPK, attrSK
	}
}

var itemKeys = []string{attrPK, attrSK, attrExp, "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"}

func encodeItem(it *store.Item) (item, error) {
	out := item{}
	for _, ix := range []store.Index{store.Primary, store.GSI1, store.GSI2} {
		if in := it.In(ix); !in.IsZero() {
			pk, sk := indexAttrs(ix)
			out[pk], out[sk] = &strV{Value: in.PK}, &strV{Value: in.SK}
		}
	}
	if !it.Expires.IsZero() {
		out[attrExp] = &numV{Value: strconv.FormatInt(it.Expires.Unix(), 10)}
	}
	for name, v := range it.Attrs {
		if slices.Contains(itemKeys, name) {
			return nil, fmt.Errorf("item %s %s: attribute %s is one of its keys", it.PK, it.SK, name)
		}
		av, _, err := encodeValue(v)
		if err != nil {
			return nil, fmt.Errorf("item %s %s: attribute %s: %w", it.PK, it.SK, name, err)
		}
		out[name] = av
	}
	return out, nil
}

func decodeItem(in item) (store.Item, error) {
	it := store.Item{Attrs: map[string]varve.Value{}}
	keys := map[string]*string{
		attrPK: &it.PK, attrSK: &it.SK, "gsi1pk": &it.GSI1.PK, "gsi1sk": &it.GSI1.SK, "gsi2pk": &it.GSI2.PK, "gsi2sk": &it.GSI2.SK,
	}
	for name, av := range in {
		if to := keys[name]; to != nil {
			s, ok := av.(*strV)
			if !ok {
				return it, fmt.Errorf("an item's %s is no string", name)
			}
			*to = s.Value
			continue
		}
		if name == attrExp {
			n, ok := av.(*numV)
			if !ok {
				return it, fmt.Errorf("an item's %s is no number", name)
			}
			sec, err := strconv.ParseInt(n.Value, 10, 64)
			if err != nil {
				return it, fmt.Errorf("an item's %s: %w", name, err)
			}
			it.Expires = time.Unix(sec, 0).UTC()
			continue
		}
		v, err := decodeValue(av, -1)
		if err != nil {
			return it, fmt.Errorf("an item's %s: %w", name, err)
		}
		it.Attrs[name] = v
	}
	return it, nil
}

func itemKey(k store.Key) item { return item{attrPK: &strV{Value: k.PK}, attrSK: &strV{Value: k.SK}} }

func (s *Store) live(it *store.Item) bool {
	return it.Expires.IsZero() || s.opts.Now().Before(it.Expires)
}

// batchGet is how many items one request may ask for.
const batchGet = 100

// Get implements store.Items.
func (s *Store) Get(ctx context.Context, keys []store.Key, consistent bool) (items []store.Item, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	unique := slices.Clone(keys)
	slices.SortFunc(unique, store.Key.Compare)
	unique = slices.Compact(unique)
	for some := range slices.Chunk(unique, batchGet) {
		if items, err = s.getSome(ctx, some, consistent, items); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (s *Store) getSome(ctx context.Context, keys []store.Key, consistent bool, items []store.Item) ([]store.Item, error) {
	ask := types.KeysAndAttributes{ConsistentRead: aws.Bool(consistent)}
	for _, k := range keys {
		ask.Keys = append(ask.Keys, itemKey(k))
	}
	pending := map[string]types.KeysAndAttributes{s.opts.Registry: ask}
	for try := 0; len(pending) > 0; try++ {
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: pending, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
		if err != nil {
			return nil, s.fail("BatchGetItem", s.opts.Registry, err)
		}
		for i := range out.ConsumedCapacity {
			s.usage.itemReads.add(halves(&out.ConsumedCapacity[i]))
		}
		for _, raw := range out.Responses[s.opts.Registry] {
			it, err := decodeItem(raw)
			if err != nil {
				return nil, err
			}
			if s.live(&it) {
				items = append(items, it)
			}
		}
		pending = out.UnprocessedKeys
	}
	return items, nil
}

// Put implements store.Items.
func (s *Store) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.put(ctx, it, conds...)
}

func (s *Store) put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	raw, err := encodeItem(&it)
	if err != nil {
		return err
	}
	x := newExpression()
	cond, err := s.conditions(x, conds)
	if err != nil {
		return err
	}
	in := &dynamodb.PutItemInput{
		TableName: aws.String(s.opts.Registry), Item: raw, ConditionExpression: cond,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.used()
	out, err := s.client.PutItem(ctx, in)
	if err == nil {
		s.usage.itemWrites.add(halves(out.ConsumedCapacity))
	}
	return s.itemError("PutItem", it.Key, err)
}

// Delete implements store.Items.
func (s *Store) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.delete(ctx, k, conds...)
}

func (s *Store) delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	x := newExpression()
	cond, err := s.conditions(x, conds)
	if err != nil {
		return err
	}
	in := &dynamodb.DeleteItemInput{
		TableName: aws.String(s.opts.Registry), Key: itemKey(k), ConditionExpression: cond,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.used()
	out, err := s.client.DeleteItem(ctx, in)
	if err == nil {
		s.usage.itemWrites.add(halves(out.ConsumedCapacity))
	}
	return s.itemError("DeleteItem", k, err)
}

func (s *Store) itemError(action string, k store.Key, err error) error {
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		s.usage.itemWrites.refused(nil)
		return fmt.Errorf("item %s %s: %w", k.PK, k.SK, store.ErrCondition)
	default:
		return s.fail(action, s.opts.Registry, err)
	}
}

// conditions writes conditions as an expression; nil for none. An item whose
// time has come is as good as absent.
func (s *Store) conditions(x *expression, conds []store.Cond) (*string, error) {
	if len(conds) == 0 {
		return nil, nil
	}
	pk, exp := x.name(attrPK), x.name(attrExp)
	now := x.value(&numV{Value: strconv.FormatInt(s.opts.Now().Unix(), 10)})
	there := fmt.Sprintf("(attribute_exists(%s) AND (attribute_not_exists(%s) OR %s > %s))", pk, exp, exp, now)
	var all []string
	for _, c := range conds {
		switch c.Op {
		case store.Absent:
			all = append(all, "(NOT "+there+")")
		case store.Exists:
			all = append(all, there)
		case store.Equals, store.Less:
			compared, err := comparison(x, c)
			if err != nil {
				return nil, err
			}
			all = append(all, "("+there+" AND "+compared+")")
		}
	}
	return aws.String(strings.Join(all, " AND ")), nil
}

func comparison(x *expression, c store.Cond) (string, error) {
	av, _, err := encodeValue(c.Value)
	if err != nil {
		return "", err
	}
	op := "="
	if c.Op == store.Less {
		op = "<"
	}
	return x.name(c.Attr) + op + x.value(av), nil
}
