package dynamo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
)

const (
	// closedBytes is the size from which on a row is closed: one that would
	// cost more than a unit to add to.
	closedBytes = unitBytes
	// freshBytes is about how much a new row gets at once, which costs no more
	// than the same in several rows. The last reading may go beyond it by 64
	// KiB and what that is in maps; a row may have 400 KB.
	freshBytes = 64 << 10
	// maxAssignments keeps an update's expression below the 4 KB that it may
	// have; one reading of 256 fields has room.
	maxAssignments = 200
	// unseenFields and unseenKeys keep the condition of an update of a row that
	// was not seen below 4 KB and 300 operators.
	unseenFields = 60
	unseenKeys   = 40
)

// reply is what became of an update.
type reply struct {
	stored bool
	// row is what the row holds now, if that is known. Nil after a refusal: the
	// row is not there.
	row *row
}

// putNew writes a row, if it is not there.
func (s *Store) putNew(ctx context.Context, g *group, at place, entries []entry) (reply, error) {
	r, err := newRow(entries)
	if err != nil {
		return reply{}, err
	}
	it := g.key(at)
	r.bytes += sizeOf(it) + len(attrIDs)
	for attr, m := range r.maps {
		it[attr] = &mapV{Value: m}
	}
	it[attrIDs] = &setV{Value: slices.Sorted(maps.Keys(r.keys))}
	if expires := expiryOf(entries, g.layout.Keep); expires != 0 {
		it[attrTTL] = &numV{Value: strconv.FormatInt(expires, 10)}
	}
	// A row says its size if others must agree on whether it is closed, or may
	// add to it without having seen it.
	if r.sized = g.existing || r.bytes >= closedBytes/2; r.sized {
		it[attrSize] = &numV{Value: strconv.Itoa(r.bytes)}
	}
	epoch := s.closes.now()
	var out *dynamodb.PutItemOutput
	err = s.steady(ctx, g.table, "PutItem", func() (err error) {
		out, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String(g.table.Name()), Item: it,
			ConditionExpression:                 aws.String("attribute_not_exists(" + attrSeries + ")"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
		})
		return err
	})
	if err != nil {
		return s.refused(ctx, g, at, "PutItem", epoch, err)
	}
	s.usage.writes.add(halves(out.ConsumedCapacity))
	s.closes.learn(epoch, g.at(at), &r)
	return reply{stored: true, row: &r}, nil
}

// putMore adds readings to a row that holds what was seen. If it holds
// something else by now, nothing is stored.
func (s *Store) putMore(ctx context.Context, g *group, at place, seen *row, entries []entry) (reply, error) {
	more, err := newRow(entries)
	if err != nil {
		return reply{}, err
	}
	x := newExpression()
	x.add(&more, func(attr string) bool { return seen.maps[attr] != nil })
	x.size(seen.bytes + more.bytes)
	if more.ttl = later(seen.ttl, expiryOf(entries, g.layout.Keep)); more.ttl != seen.ttl {
		x.removal(attrTTL, more.ttl == 0)
		x.ttl(more.ttl)
	}
	// With its expiry: a row that was deleted and made anew is another one.
	same := "size(" + x.name(attrIDs) + ")=" + x.value(&numV{Value: strconv.Itoa(len(seen.keys))}) + " AND "
	if seen.ttl == 0 {
		same += "attribute_not_exists(" + x.name(attrTTL) + ")"
	} else {
		same += x.name(attrTTL) + "=" + x.value(&numV{Value: strconv.FormatInt(seen.ttl, 10)})
	}
	epoch := s.closes.now()
	r, err := s.update(ctx, g, at, &dynamodb.UpdateItemInput{ConditionExpression: aws.String(same)}, x)
	if r.stored {
		r.row = seen.with(&more)
		s.closes.learn(epoch, g.at(at), r.row)
	}
	return r, err
}

// with returns a row to which another one's readings were added.
func (r *row) with(more *row) *row {
	sum := &row{keys: maps.Clone(r.keys), maps: maps.Clone(r.maps), bytes: r.bytes + more.bytes, sized: true, ttl: more.ttl, whole: r.whole}
	maps.Copy(sum.keys, more.keys)
	for attr, m := range more.maps {
		if sum.maps[attr] = maps.Clone(sum.maps[attr]); sum.maps[attr] == nil {
			sum.maps[attr] = item{}
		}
		maps.Copy(sum.maps[attr], m)
	}
	return sum
}

// putUnseen adds readings to a row that is thought to be there, if it is, has
// room, has all of their fields' maps, and has none of them. Otherwise nothing
// is stored.
func (s *Store) putUnseen(ctx context.Context, g *group, at place, entries []entry) (reply, error) {
	more, err := newRow(entries)
	if err != nil {
		return reply{}, err
	}
	x := newExpression()
	x.add(&more, func(string) bool { return true })
	size := x.name(attrSize)
	x.adds = append(x.adds, size+" "+x.value(&numV{Value: strconv.Itoa(more.bytes)}))
	conds := []string{size + "<" + x.value(&numV{Value: strconv.Itoa(closedBytes)}), "attribute_exists(" + x.name(attrIDs) + ")"}
	for _, attr := range slices.Sorted(maps.Keys(more.maps)) {
		conds = append(conds, "attribute_exists("+x.name(attr)+")")
	}
	for _, key := range slices.Sorted(maps.Keys(more.keys)) {
		conds = append(conds, "NOT contains("+x.name(attrIDs)+","+x.value(&strV{Value: key})+")")
	}
	if expires := expiryOf(entries, g.layout.Keep); expires != 0 {
		ttl := x.name(attrTTL)
		x.ttl(expires)
		conds = append(conds, ttl+"<="+x.value(&numV{Value: strconv.FormatInt(expires, 10)}))
	} else {
		conds = append(conds, "attribute_not_exists("+x.name(attrTTL)+")")
	}
	return s.update(ctx, g, at, &dynamodb.UpdateItemInput{
		ConditionExpression: aws.String(strings.Join(conds, " AND ")),
		ReturnValues:        types.ReturnValueUpdatedNew, // with all keys, and the size
	}, x)
}

// add adds the members of a row's maps to those that there are, sets the others
// whole, and adds its keys.
func (x *expression) add(more *row, there func(attr string) bool) {
	for _, attr := range slices.Sorted(maps.Keys(more.maps)) {
		name := x.name(attr)
		if !there(attr) {
			x.set(name, &mapV{Value: more.maps[attr]})
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(more.maps[attr])) {
			x.set(name+"."+x.name(key), more.maps[attr][key])
		}
	}
	x.adds = append(x.adds, x.name(attrIDs)+" "+x.value(&setV{Value: slices.Sorted(maps.Keys(more.keys))}))
}

// update carries out an update, unless its condition does not hold.
func (s *Store) update(ctx context.Context, g *group, at place, in *dynamodb.UpdateItemInput, x *expression) (reply, error) {
	in.TableName = aws.String(g.table.Name())
	in.Key = g.key(at)
	in.UpdateExpression = aws.String(x.text())
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.used()
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	epoch := s.closes.now()
	var out *dynamodb.UpdateItemOutput
	err := s.steady(ctx, g.table, "UpdateItem", func() (err error) {
		out, err = s.client.UpdateItem(ctx, in)
		return err
	})
	if err != nil {
		return s.refused(ctx, g, at, "UpdateItem", epoch, err)
	}
	s.usage.writes.add(halves(out.ConsumedCapacity))
	r, err := s.seen(g, at, epoch, out.Attributes, false)
	return reply{stored: true, row: r}, err
}

// refused returns the reply to a write whose condition does not hold, with what
// the row holds; other errors are returned.
func (s *Store) refused(ctx context.Context, g *group, at place, action string, epoch int, err error) (reply, error) {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		if err = s.fail(action, g.table.Name(), err); isNoTable(err) {
			s.closes.forget(g.table)
		}
		if varve.FailureOf(err) == varve.Invalid {
			err = cmp.Or(s.findDamage(ctx, g, at), err)
		}
		return reply{}, err
	}
	s.usage.writes.refused(failed.Item)
	r, err := s.seen(g, at, epoch, failed.Item, true)
	return reply{row: r}, err
}

// seen reads what a row holds, if it was returned as a whole; nil if nothing was.
func (s *Store) seen(g *group, at place, epoch int, it item, whole bool) (*row, error) {
	if len(it) == 0 {
		return nil, nil
	}
	r, err := parseRow(it)
	r.whole = whole
	if err != nil {
		return nil, damagedRow(g.table, g.key(at), err)
	}
	s.closes.learn(epoch, g.at(at), &r)
	return &r, nil
}
