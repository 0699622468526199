package row

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// Parse returns the contents of a row, or of the attributes that an update returned.
func Parse(it attr.Item) (Row, error) {
	r := Row{Keys: map[string]bool{}, Maps: map[string]attr.Item{}, Bytes: attr.Size(it)}
	ids, ok := it[AttrIDs].(*attr.Set)
	if _, erased := it[AttrErased]; !ok && !erased {
		return r, fmt.Errorf("it has no %s", AttrIDs)
	}
	if ok {
		for _, key := range ids.Value {
			r.Keys[key] = true
		}
	}
	for name, av := range it {
		m, ok := av.(*attr.Map)
		if ok {
			r.Maps[name] = m.Value
		} else if _, field := fieldName(name); field || name == AttrAt || name == AttrScale {
			return r, fmt.Errorf("attribute %s is not a map", name)
		}
	}
	if len(r.Keys) > 0 && r.Maps[AttrAt] == nil {
		return r, fmt.Errorf("it has no %s", AttrAt)
	}
	size, sized, err := attr.WholeNumber(it, AttrSize)
	if r.Sized = sized; sized {
		r.Bytes = int(size)
	}
	if err == nil {
		r.TTL, _, err = attr.WholeNumber(it, AttrTTL)
	}
	return r, err
}

// Readings returns the readings of a row that begins at the given millisecond. They are not in
// order.
func (r *Row) Readings(series varve.Series, ms int64) ([]varve.Reading, error) {
	list := make([]varve.Reading, 0, len(r.Keys))
	for key := range r.Keys {
		reading, err := r.Reading(series, ms, key)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", key, err)
		}
		list = append(list, reading)
	}
	return list, nil
}

// Reading returns the reading with the given key.
func (r *Row) Reading(series varve.Series, ms int64, key string) (out varve.Reading, err error) {
	offset, id, ok := ParseKey(key)
	if !ok {
		return out, errors.New("its key is malformed")
	}
	out = varve.Reading{Series: series, Time: time.Unix(0, ms*nsPerMs+offset).UTC(), ID: id}
	at, ok := r.Maps[AttrAt][key].(*attr.Num)
	if !ok {
		return out, errors.New("it has no arrival")
	}
	if out.Arrived, err = parseSeconds(at.Value); err != nil {
		return out, err
	}
	scale, _ := r.Maps[AttrScale][key].(*attr.Map) // missing for most readings
	for name, m := range r.Maps {
		av, exists := m[key]
		field, isField := fieldName(name)
		if !exists || !isField {
			continue
		}
		decimals := -1
		if scale != nil {
			if n, ok := scale.Value[field].(*attr.Num); ok {
				if decimals, err = strconv.Atoi(n.Value); err != nil {
					return out, err
				}
			}
		}
		v, err := attr.DecodeValue(av, decimals)
		if err != nil {
			return out, fmt.Errorf("field %s: %w", field, err)
		}
		out.Fields = append(out.Fields, varve.Field{Name: field, Value: v})
	}
	if len(out.Fields) == 0 {
		return out, errors.New("it has no fields")
	}
	slices.SortFunc(out.Fields, func(a, b varve.Field) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// ReadingsOf returns the first millisecond of a row, whether the row is an overflow row, and its
// readings. The millisecond is -1 if it cannot be parsed.
func ReadingsOf(series varve.Series, it attr.Item) (ms int64, overflow bool, list []varve.Reading, err error) {
	ts, ok := it[AttrTS].(*attr.Num)
	if !ok {
		return -1, false, nil, fmt.Errorf("it has no %s", AttrTS)
	}
	if ms, overflow, ok = ParseTS(ts.Value); !ok || ms < 0 {
		return -1, false, nil, fmt.Errorf("its %s is not a millisecond", AttrTS)
	}
	r, err := Parse(it)
	if err == nil {
		list, err = r.Readings(series, ms)
	}
	return ms, overflow, list, err
}

// Damaged returns the error for a row with a problem.
func Damaged(t grid.Table, it attr.Item, problem error) *store.DamagedRow {
	d := &store.DamagedRow{Table: t.Name(), Problem: problem.Error()}
	if series, ok := it[AttrSeries].(*attr.Str); ok {
		d.Series = series.Value
	}
	if ts, ok := it[AttrTS].(*attr.Num); ok {
		d.TS = ts.Value
	}
	return d
}
