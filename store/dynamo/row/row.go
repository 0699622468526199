// Package row converts readings to DynamoDB rows and back.
//
//	Ref       table, series, shard, first millisecond    a first row
//	Address   Ref and overflow path                      any row
//	Entry     key and reading                            one reading for a row
//	Row       ids, arrivals, values and scales by key    the contents of a row
//	Stream    row window and shards of a stream          a row of "#streams"
//
// The package sends no requests. docs/data-model.md describes the form of rows. The main types and
// functions:
//
//   - [Ref] and [Address] identify rows, and [Address.Below] leads to an overflow row.
//   - [Entry] is a submitted reading with its key, and [Row] the contents of a row.
//   - [Row.UpdateSeen] and [Row.UpdateBlind] add readings to a row, under a condition.
//   - [Stream] is the layout of a stream in a table.
//
// The address of a reading depends only on its identity and layout. The exception is the length
// of the overflow path, which ends at the first row that was open.
//
// [Parse] and [Row.Readings] return an error for a row that they cannot decode. They never omit a
// reading. The functions have no state.
package row

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// Row is the contents of a row, or readings to be added to a row.
type Row struct {
	Keys  map[string]bool      // keys of the readings
	Maps  map[string]attr.Item // for each attribute that is a map, its members by key
	Bytes int                  // size of the row, or the number of bytes that the readings add to a row
	Sized bool                 // whether the row has an attribute with its size
	TTL   int64                // earliest time of deletion, in seconds since 1970; 0 means never
	Whole bool                 // whether Maps has all members of the stored row
}

// New returns a Row with the readings of entries, to be added to a row.
func New(entries []Entry) (Row, error) {
	r := Row{Keys: map[string]bool{}, Maps: map[string]attr.Item{}, Whole: true}
	for i := range entries {
		if err := r.add(&entries[i]); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *Row) add(e *Entry) error {
	r.Keys[e.Key] = true
	r.Bytes += len(e.Key)
	r.set(AttrAt, e.Key, &attr.Num{Value: seconds(e.Reading.Arrived)})
	var scale attr.Item
	for _, f := range e.Reading.Fields {
		av, decimals, err := attr.EncodeValue(f.Value)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		r.set(fieldAttr(f.Name), e.Key, av)
		if decimals >= 0 {
			if scale == nil {
				scale = attr.Item{}
			}
			scale[f.Name] = &attr.Num{Value: strconv.Itoa(decimals)}
		}
	}
	if scale != nil {
		r.set(AttrScale, e.Key, &attr.Map{Value: scale})
	}
	return nil
}

func (r *Row) set(name, key string, av types.AttributeValue) {
	m := r.Maps[name]
	if m == nil {
		m = attr.Item{}
		r.Maps[name] = m
		r.Bytes += len(name) + attr.MapOverhead
	}
	m[key] = av
	r.Bytes += len(key) + attr.SizeOfValue(av) + attr.ElementOverhead
}

// HasKeys reports whether the row has the keys of all the given entries.
func (r *Row) HasKeys(entries []Entry) bool {
	return !slices.ContainsFunc(entries, func(e Entry) bool { return !r.Keys[e.Key] })
}

// With returns a copy of the row that also has the readings of "more".
func (r *Row) With(more *Row) *Row {
	sum := &Row{Keys: maps.Clone(r.Keys), Maps: maps.Clone(r.Maps), Bytes: r.Bytes + more.Bytes, Sized: true, TTL: more.TTL, Whole: r.Whole}
	maps.Copy(sum.Keys, more.Keys)
	for name, m := range more.Maps {
		if sum.Maps[name] = maps.Clone(sum.Maps[name]); sum.Maps[name] == nil {
			sum.Maps[name] = attr.Item{}
		}
		maps.Copy(sum.Maps[name], m)
	}
	return sum
}

// SortedKeys returns the keys of a row in order.
func (r *Row) SortedKeys() []string { return slices.Sorted(maps.Keys(r.Keys)) }

// SortedMaps returns the names of the attributes that are maps, in order.
func (r *Row) SortedMaps() []string { return slices.Sorted(maps.Keys(r.Maps)) }

// Item returns the attributes of a new row at an address. It adds the size of the keys to Bytes. A
// row is closed at "full" bytes. The row records its size if "sized" is true, or if its size is at
// least half of "full".
func (r *Row) Item(at Address, full int, sized bool) attr.Item {
	it := at.Key()
	r.Bytes += attr.Size(it) + len(AttrIDs)
	for name, m := range r.Maps {
		it[name] = &attr.Map{Value: m}
	}
	it[AttrIDs] = &attr.Set{Value: r.SortedKeys()}
	if r.TTL != 0 {
		it[AttrTTL] = &attr.Num{Value: strconv.FormatInt(r.TTL, 10)}
	}
	if r.Sized = sized || r.Bytes >= full/2; r.Sized {
		it[AttrSize] = &attr.Num{Value: strconv.Itoa(r.Bytes)}
	}
	return it
}

// seconds formats an arrival in seconds, with up to three decimals and without trailing zeros.
func seconds(t time.Time) string {
	ms := t.UnixMilli()
	if ms%1000 == 0 {
		return strconv.FormatInt(ms/1000, 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%03d", ms/1000, ms%1000), "0")
}

func parseSeconds(text string) (time.Time, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return time.Time{}, fmt.Errorf("arrival %.40q is not a number", text)
	}
	r.Mul(r, big.NewRat(1000, 1))
	if !r.IsInt() || !r.Num().IsInt64() {
		return time.Time{}, fmt.Errorf("arrival %.40q is finer than a millisecond", text)
	}
	return time.UnixMilli(r.Num().Int64()).UTC(), nil
}
