package row

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// Check returns the readings in a row of a table. If the row violates an invariant, it returns
// the problem.
func Check(t grid.Table, it attr.Item) (readings []varve.Reading, problem error) {
	hash, ok := it[AttrSeries].(*attr.Str)
	if !ok {
		return nil, errors.New("it has no " + AttrSeries)
	}
	if hash.Value == StreamsKey {
		_, err := ParseStream(it)
		return nil, err
	}
	series, _, err := ParseSeriesKey(hash.Value)
	if err != nil {
		return nil, err
	}
	ms, overflow, list, err := ReadingsOf(series, it)
	if err != nil {
		return nil, err
	}
	r, err := Parse(it)
	if err != nil {
		return nil, err
	}
	ts, _ := it[AttrTS].(*attr.Num)
	return list, errors.Join(
		checkTS(t, ts.Value, ms, overflow), r.checkKeys(), r.checkTTL(list), r.checkReadings(t, ms, list),
	)
}

func checkTS(t grid.Table, ts string, ms int64, overflow bool) error {
	if at := time.UnixMilli(ms); !t.Contains(at) {
		return fmt.Errorf("its %s is %s, outside of the table", AttrTS, at.UTC().Format(time.RFC3339))
	}
	if _, path, _ := strings.Cut(ts, "."); overflow && strings.Trim(path, "123456789") != "" {
		return fmt.Errorf("its %s has the decimals %s, not only 1 to 9", AttrTS, path)
	}
	return nil
}

// checkKeys checks that each key in the maps of a row is one of the row's keys.
func (r *Row) checkKeys() error {
	for name, m := range r.Maps {
		if _, field := fieldName(name); !field && name != AttrAt && name != AttrScale {
			continue
		}
		for key := range m {
			if !r.Keys[key] {
				return fmt.Errorf("attribute %s has a member %.80q, which is not in %s", name, key, AttrIDs)
			}
		}
	}
	return nil
}

// checkTTL checks that a row cannot be deleted before its readings have happened and arrived. It
// also checks that the recorded expiry is not negative, and that a recorded size is above 0.
func (r *Row) checkTTL(list []varve.Reading) error {
	for i := range list {
		if r.TTL != 0 && r.TTL < lastTime(&list[i]).Unix() {
			return fmt.Errorf("its %s is before the time of its readings", AttrTTL)
		}
	}
	if r.TTL < 0 {
		return fmt.Errorf("its %s is negative", AttrTTL)
	}
	if r.Sized && r.Bytes <= 0 {
		return fmt.Errorf("its %s is not above 0", AttrSize)
	}
	return nil
}

func (r *Row) checkReadings(t grid.Table, ms int64, list []varve.Reading) error {
	for i := range list {
		reading := &list[i]
		offset := reading.Time.Sub(time.UnixMilli(ms))
		switch key := Key(reading, ms, false); {
		case offset >= store.MaxRowWindow:
			return fmt.Errorf("reading %s is %s after the row's %s", reading.ID, offset, AttrTS)
		case offset >= time.Millisecond && !r.Keys[Key(reading, ms, true)],
			offset < time.Millisecond && !r.Keys[key] && !r.Keys[Key(reading, ms, true)]:
			return fmt.Errorf("reading %s has a key that its time and id do not have", reading.ID)
		case !t.Contains(reading.Time):
			return fmt.Errorf("reading %s is of %s, outside of the table", reading.ID, reading.Time.Format(time.RFC3339))
		case grid.MonthOf(reading.Arrived) != t.Month:
			return fmt.Errorf("reading %s arrived %s, outside of the table's month", reading.ID, reading.Arrived.Format(time.RFC3339))
		}
		if v := reading.Normalize(); v.Outcome == varve.Rejected {
			return fmt.Errorf("reading %s is not valid: %s", reading.ID, v.Message)
		}
	}
	return nil
}
