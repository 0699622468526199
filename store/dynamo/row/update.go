package row

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// UpdateSeen returns the update that adds readings to a row that was read before, and its
// condition. The row "seen" has the contents that were read. The condition fails if the
// readings of the row have changed since.
func (r *Row) UpdateSeen(seen *Row) (x *attr.Expression, condition string) {
	x = attr.NewExpression()
	r.addTo(x, func(name string) bool { return seen.Maps[name] != nil })
	x.Set(x.Name(AttrSize), number(int64(seen.Bytes+r.Bytes)))
	if r.TTL != seen.TTL {
		if r.TTL == 0 {
			x.Remove(x.Name(AttrTTL))
		} else {
			x.Set(x.Name(AttrTTL), number(r.TTL))
		}
	}
	return x, sameReadings(x, seen)
}

// sameReadings returns a condition that is true if a row has the readings that it had when it was read.
// It compares the arrivals by key. So it is false if a reading was erased, even if a reading with the
// same key was stored since.
func sameReadings(x *attr.Expression, seen *Row) string {
	if len(seen.Keys) == 0 {
		return "attribute_exists(" + x.Name(AttrErased) + ")"
	}
	return x.Name(AttrAt) + "=" + x.Value(&attr.Map{Value: seen.Maps[AttrAt]})
}

// UpdateBlind returns the update that adds readings to a row that was not read, and its condition.
// The condition is true if the row exists, is smaller than "full" bytes, has all attributes of the
// readings, and has none of their keys. The row must not expire later than the readings. If the
// readings never expire, the row must not expire either.
func (r *Row) UpdateBlind(full int) (x *attr.Expression, condition string) {
	x = attr.NewExpression()
	r.addTo(x, func(string) bool { return true })
	size := x.Name(AttrSize)
	x.Add(size, number(int64(r.Bytes)))
	conds := []string{size + "<" + x.Value(number(int64(full))), "attribute_exists(" + x.Name(AttrIDs) + ")"}
	for _, name := range r.SortedMaps() {
		conds = append(conds, "attribute_exists("+x.Name(name)+")")
	}
	for _, key := range r.SortedKeys() {
		conds = append(conds, "NOT contains("+x.Name(AttrIDs)+","+x.Value(&attr.Str{Value: key})+")")
	}
	if r.TTL != 0 {
		ttl := x.Name(AttrTTL)
		x.Set(ttl, number(r.TTL))
		conds = append(conds, ttl+"<="+x.Value(number(r.TTL)))
	} else {
		conds = append(conds, "attribute_not_exists("+x.Name(AttrTTL)+")")
	}
	return x, strings.Join(conds, " AND ")
}

// addTo adds members to maps that exist, sets the other maps, and adds the keys.
func (r *Row) addTo(x *attr.Expression, exists func(name string) bool) {
	for _, name := range r.SortedMaps() {
		placeholder := x.Name(name)
		if !exists(name) {
			x.Set(placeholder, &attr.Map{Value: r.Maps[name]})
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(r.Maps[name])) {
			x.Set(placeholder+"."+x.Name(key), r.Maps[name][key])
		}
	}
	x.Add(x.Name(AttrIDs), &attr.Set{Value: r.SortedKeys()})
}

func number(n int64) types.AttributeValue { return &attr.Num{Value: strconv.FormatInt(n, 10)} }
