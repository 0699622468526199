package dynamo

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
)

type (
	item = map[string]types.AttributeValue
	mapV = types.AttributeValueMemberM
	setV = types.AttributeValueMemberSS
	numV = types.AttributeValueMemberN
	strV = types.AttributeValueMemberS
)

// entry is one reading on its way into a row.
type entry struct {
	key     string
	offset  int64 // nanoseconds after its row's beginning
	reading *varve.Reading
	verdict *varve.Verdict
	size    int // bytes it adds to a row, at the most
}

// row is what a row holds, or is to get: for each attribute that is a map, its
// members by key.
type row struct {
	keys  map[string]bool
	maps  map[string]item
	bytes int   // of a row: its size; of what it is to get: what that adds
	sized bool  // the row says its size itself
	ttl   int64 // from when it may be deleted, in unix seconds; 0: never
	whole bool  // maps have all members
}

// newRow returns the attributes of a row with the given readings.
func newRow(entries []entry) (row, error) {
	r := row{keys: map[string]bool{}, maps: map[string]item{}, whole: true}
	for i := range entries {
		if err := r.add(&entries[i]); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *row) add(e *entry) error {
	r.keys[e.key] = true
	r.bytes += len(e.key)
	r.set(attrAt, e.key, &numV{Value: seconds(e.reading.Arrived)})
	var scale item
	for _, f := range e.reading.Fields {
		av, decimals, err := encodeValue(f.Value)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		r.set(fieldAttr(f.Name), e.key, av)
		if decimals >= 0 {
			if scale == nil {
				scale = item{}
			}
			scale[f.Name] = &numV{Value: strconv.Itoa(decimals)}
		}
	}
	if scale != nil {
		r.set(attrScale, e.key, &mapV{Value: scale})
	}
	return nil
}

func (r *row) set(attr, key string, av types.AttributeValue) {
	m := r.maps[attr]
	if m == nil {
		m = item{}
		r.maps[attr] = m
		r.bytes += len(attr) + mapOverhead
	}
	m[key] = av
	r.bytes += len(key) + sizeOfValue(av) + elementOverhead
}

// seconds writes an arrival, which is kept to the millisecond, without zeros at
// its end.
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
		return time.Time{}, fmt.Errorf("arrival %.40q is no number", text)
	}
	r.Mul(r, big.NewRat(1000, 1))
	if !r.IsInt() || !r.Num().IsInt64() {
		return time.Time{}, fmt.Errorf("arrival %.40q is finer than a millisecond", text)
	}
	return time.UnixMilli(r.Num().Int64()).UTC(), nil
}

// parseRow reads what a row holds, or as much of it as an update returned.
func parseRow(it item) (row, error) {
	r := row{keys: map[string]bool{}, maps: map[string]item{}, bytes: sizeOf(it)}
	ids, ok := it[attrIDs].(*setV)
	if !ok {
		return r, fmt.Errorf("it has no %s", attrIDs)
	}
	for _, key := range ids.Value {
		r.keys[key] = true
	}
	for attr, av := range it {
		m, ok := av.(*mapV)
		if ok {
			r.maps[attr] = m.Value
		} else if _, field := fieldName(attr); field || attr == attrAt || attr == attrScale {
			return r, fmt.Errorf("attribute %s is no map", attr)
		}
	}
	size, sized, err := wholeNumber(it, attrSize)
	if r.sized = sized; sized {
		r.bytes = int(size)
	}
	if err == nil {
		r.ttl, _, err = wholeNumber(it, attrTTL)
	}
	return r, err
}

// wholeNumber returns the value of an attribute that is one, if it is there.
func wholeNumber(it item, attr string) (n int64, there bool, err error) {
	av, there := it[attr]
	if !there {
		return 0, false, nil
	}
	v, ok := av.(*numV)
	if !ok {
		return 0, true, fmt.Errorf("a row's %s is no number", attr)
	}
	n, err = strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		return 0, true, fmt.Errorf("a row's %s is %.40q: a whole number is wanted", attr, v.Value)
	}
	return n, true, nil
}

// readings returns the readings that a row from a millisecond on holds, in no
// order.
func (r *row) readings(series varve.Series, ms int64) ([]varve.Reading, error) {
	list := make([]varve.Reading, 0, len(r.keys))
	for key := range r.keys {
		reading, err := r.reading(series, ms, key)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", key, err)
		}
		list = append(list, reading)
	}
	return list, nil
}

func (r *row) reading(series varve.Series, ms int64, key string) (out varve.Reading, err error) {
	offset, id, ok := parseRowKey(key)
	if !ok {
		return out, fmt.Errorf("this is no key of a reading")
	}
	out = varve.Reading{Series: series, Time: time.Unix(0, ms*nsPerMs+offset).UTC(), ID: id}
	at, ok := r.maps[attrAt][key].(*numV)
	if !ok {
		return out, fmt.Errorf("it has no arrival")
	}
	if out.Arrived, err = parseSeconds(at.Value); err != nil {
		return out, err
	}
	scale, _ := r.maps[attrScale][key].(*mapV) // most have none
	for attr, m := range r.maps {
		av, there := m[key]
		name, isField := fieldName(attr)
		if !there || !isField {
			continue
		}
		decimals := -1
		if scale != nil {
			if n, ok := scale.Value[name].(*numV); ok {
				if decimals, err = strconv.Atoi(n.Value); err != nil {
					return out, err
				}
			}
		}
		v, err := decodeValue(av, decimals)
		if err != nil {
			return out, fmt.Errorf("field %s: %w", name, err)
		}
		out.Fields = append(out.Fields, varve.Field{Name: name, Value: v})
	}
	if len(out.Fields) == 0 {
		return out, fmt.Errorf("it has no fields")
	}
	slices.SortFunc(out.Fields, func(a, b varve.Field) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
