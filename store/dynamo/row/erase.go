package row

import (
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve/store/dynamo/attr"
)

// Stored is a row of a table with its contents.
type Stored struct {
	Row

	MS       int64
	Overflow string // overflow path
	Attrs    attr.Item
}

// ParseStored parses a row and retains its attributes.
func ParseStored(it attr.Item) (s Stored, err error) {
	s.Attrs = it
	if s.Row, err = Parse(it); err != nil {
		return s, err
	}
	ts, _ := it[AttrTS].(*attr.Num)
	if ts != nil {
		var ok bool
		if s.MS, _, ok = ParseTS(ts.Value); ok {
			_, path, _ := strings.Cut(ts.Value, ".")
			s.Overflow = strings.TrimRight(path, "0")
			return s, nil
		}
	}
	return s, fmt.Errorf("its %s is not a millisecond", AttrTS)
}

// Covered returns the keys of the readings for which the function "covers" returns true.
func (s *Stored) Covered(covers func(at, arrived time.Time) bool) (keys map[string]bool, err error) {
	keys = map[string]bool{}
	for key := range s.Keys {
		offset, _, ok := ParseKey(key)
		if !ok {
			return nil, fmt.Errorf("key %.80q is malformed", key)
		}
		arrival, ok := s.Maps[AttrAt][key].(*attr.Num)
		if !ok {
			return nil, fmt.Errorf("reading %.80q has no arrival", key)
		}
		arrived, err := parseSeconds(arrival.Value)
		if err != nil {
			return nil, err
		}
		if covers(time.Unix(0, s.MS*nsPerMs+offset), arrived) {
			keys[key] = true
		}
	}
	return keys, nil
}

// Without returns the attributes of the row after the removal of the readings with the given keys. If
// no reading remains, it returns an erased row. A row of "closed" bytes or more is closed. It still
// records its old size, so that it stays closed.
func (s *Stored) Without(keys map[string]bool, closed int) attr.Item {
	it := attr.Item{AttrSeries: s.Attrs[AttrSeries], AttrTS: s.Attrs[AttrTS]}
	var rest []string
	for _, key := range s.SortedKeys() {
		if !keys[key] {
			rest = append(rest, key)
		}
	}
	if len(rest) == 0 {
		return erasedItem(it, max(s.Bytes, closed), s.TTL)
	}
	it[AttrIDs] = &attr.Set{Value: rest}
	if s.TTL != 0 {
		it[AttrTTL] = s.Attrs[AttrTTL]
	}
	for name, m := range s.Maps {
		members := attr.Item{}
		for key, av := range m {
			if !keys[key] {
				members[key] = av
			}
		}
		if len(members) > 0 {
			it[name] = &attr.Map{Value: members}
		}
	}
	switch {
	case s.Bytes >= closed:
		it[AttrSize] = number(int64(s.Bytes))
	case s.Sized:
		it[AttrSize] = number(0) // a placeholder, so that attr.Size includes this attribute
		it[AttrSize] = number(int64(attr.Size(it)))
	}
	return it
}

// ErasedItem returns the attributes of an erased row at an address: a closed row without readings.
func ErasedItem(at Address, bytes int, ttl int64) attr.Item { return erasedItem(at.Key(), bytes, ttl) }

func erasedItem(it attr.Item, bytes int, ttl int64) attr.Item {
	it[AttrErased], it[AttrSize] = number(1), number(int64(bytes))
	if ttl != 0 {
		it[AttrTTL] = number(ttl)
	}
	return it
}

// Unchanged returns a condition that is true if the row has the same readings as when it was read.
func (s *Stored) Unchanged() (condition string, names map[string]string, values attr.Item) {
	x := attr.NewExpression()
	condition = sameReadings(x, &s.Row)
	names, values = x.Placeholders()
	return condition, names, values
}
