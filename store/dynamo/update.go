package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
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
	// have.
	maxAssignments = 200
)

// expression is an update's text with its names and values.
type expression struct {
	sets   []string
	names  map[string]string
	values item
}

func newExpression() *expression {
	return &expression{names: map[string]string{}, values: item{}}
}

// name returns the placeholder of an attribute or map key.
func (x *expression) name(of string) string {
	p := "#" + strconv.FormatInt(int64(len(x.names)), 36)
	x.names[p] = of
	return p
}

func (x *expression) value(av types.AttributeValue) string {
	p := ":" + strconv.FormatInt(int64(len(x.values)), 36)
	x.values[p] = av
	return p
}

func (x *expression) set(target string, av types.AttributeValue) {
	x.sets = append(x.sets, target+"="+x.value(av))
}

func (g *group) key(at place) item {
	return item{attrSeries: &strV{Value: g.series.String()}, attrTS: &numV{Value: at.String()}}
}

func (g *group) at(p place) rowAt { return rowAt{g.table, g.series, p} }

// putNew writes a row, if it is not there; else it returns what is.
func (s *Store) putNew(ctx context.Context, g *group, at place, entries []entry) (old *row, err error) {
	r, err := newRow(entries)
	if err != nil {
		return nil, err
	}
	x := newExpression()
	for _, attr := range slices.Sorted(maps.Keys(r.maps)) {
		x.set(x.name(attr), &mapV{Value: r.maps[attr]})
	}
	x.set(x.name(attrIDs), &setV{Value: slices.Sorted(maps.Keys(r.keys))})
	s.setTTL(x, g, entries, nil)
	in := &dynamodb.UpdateItemInput{
		UpdateExpression:    aws.String("SET " + strings.Join(x.sets, ",")),
		ConditionExpression: aws.String("attribute_not_exists(" + attrSeries + ")"),
	}
	if r.bytes >= closedBytes/2 { // sizes are estimates: what is closed goes by what it says itself
		in.ReturnValues = types.ReturnValueAllNew
	}
	_, old, err = s.update(ctx, g, at, in, x)
	return old, err
}

// putMore adds readings to a row that holds what was seen. If it holds
// something else by now, nothing is stored; in both cases it returns what the
// row holds now.
func (s *Store) putMore(ctx context.Context, g *group, at place, seen *row, entries []entry) (stored bool, now *row, err error) {
	more, err := newRow(entries)
	if err != nil {
		return false, nil, err
	}
	x := newExpression()
	keyNames := map[string]string{}
	for _, attr := range slices.Sorted(maps.Keys(more.maps)) {
		name := x.name(attr)
		if seen.maps[attr] == nil {
			x.set(name, &mapV{Value: more.maps[attr]})
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(more.maps[attr])) {
			if keyNames[key] == "" {
				keyNames[key] = x.name(key)
			}
			x.set(name+"."+keyNames[key], more.maps[attr][key])
		}
	}
	s.setTTL(x, g, entries, seen)
	ids := x.name(attrIDs)
	add := " ADD " + ids + " " + x.value(&setV{Value: slices.Sorted(maps.Keys(more.keys))})
	count := x.value(&numV{Value: strconv.Itoa(len(seen.keys))})
	result, old, err := s.update(ctx, g, at, &dynamodb.UpdateItemInput{
		UpdateExpression:    aws.String("SET " + strings.Join(x.sets, ",") + add),
		ConditionExpression: aws.String("size(" + ids + ")=" + count),
		ReturnValues:        types.ReturnValueAllNew,
	}, x)
	if err != nil || old != nil {
		return false, old, err
	}
	return true, result, nil
}

// update carries out an update. It returns what the row holds then, if that was
// asked for; or if the condition does not hold, what the row holds.
func (s *Store) update(ctx context.Context, g *group, at place, in *dynamodb.UpdateItemInput, x *expression) (result, old *row, err error) {
	in.TableName = aws.String(g.table.Name())
	in.Key = g.key(at)
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.names, x.values
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	epoch := s.closes.now()
	out, err := s.client.UpdateItem(ctx, in)
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		s.usage.wrote(out.ConsumedCapacity)
		if len(out.Attributes) > 0 {
			result, err = s.seen(g, at, epoch, out.Attributes)
		}
		return result, nil, err
	case !errors.As(err, &failed):
		if err = s.fail("UpdateItem", g.table.Name(), err); errors.Is(err, store.ErrNoTable) {
			s.closes.forget(g.table)
		}
		return nil, nil, err
	}
	s.usage.refused(failed.Item)
	if len(failed.Item) == 0 {
		return nil, nil, &varve.Error{Failure: varve.Unavailable, Message: fmt.Sprintf("row %s of %s came and went: send it again", at, g.series)}
	}
	old, err = s.seen(g, at, epoch, failed.Item)
	return nil, old, err
}

// seen reads what a row holds.
func (s *Store) seen(g *group, at place, epoch int, it item) (*row, error) {
	r, err := parseRow(it)
	if err == nil {
		s.closes.learn(epoch, g.at(at), &r)
	}
	return &r, err
}
