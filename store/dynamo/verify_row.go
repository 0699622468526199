package dynamo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// verifyRow returns the readings of a row of a table, and its problem; nil if it has
// none.
func verifyRow(t grid.Table, it item) (readings []varve.Reading, problem error) {
	hash, ok := it[attrSeries].(*strV)
	if !ok {
		return nil, errors.New("it has no " + attrSeries)
	}
	if hash.Value == streamRows {
		_, err := parseStreamRow(it)
		return nil, err
	}
	series, _, err := parseSeriesKey(hash.Value)
	if err != nil {
		return nil, err
	}
	ms, below, list, err := rowReadings(series, it)
	if err != nil {
		return nil, err
	}
	r, err := parseRow(it)
	if err != nil {
		return nil, err
	}
	ts, _ := it[attrTS].(*numV)
	return list, errors.Join(
		verifyPlace(t, ts.Value, ms, below), r.verifyKeys(), r.verifyTTL(list), verifyReadings(t, &r, ms, list),
	)
}

// parseSeriesKey returns the series and the shard of a hash key.
func parseSeriesKey(key string) (s varve.Series, shard int, err error) {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) < 3 {
		return s, 0, fmt.Errorf("%.80q is no series", key)
	}
	stream, n, spread := strings.Cut(parts[1], ":")
	s = varve.Series{Tenant: parts[0], Stream: stream, Device: parts[2]}
	if spread {
		if shard, err = strconv.Atoi(n); err != nil || shard < 1 || shard >= store.MaxShards {
			return s, 0, fmt.Errorf("%.80q has no shard from 1 to %d", key, store.MaxShards-1)
		}
	}
	if v := s.Validate(); v.Outcome == varve.Rejected || seriesKey(s, shard) != key {
		return s, 0, fmt.Errorf("%.80q is no series", key)
	}
	return s, shard, nil
}

// verifyPlace checks a row's sort key.
func verifyPlace(t grid.Table, ts string, ms int64, below bool) error {
	if at := time.UnixMilli(ms); !t.Contains(at) {
		return fmt.Errorf("its %s is %s, outside of the table", attrTS, at.UTC().Format(time.RFC3339))
	}
	if _, path, _ := strings.Cut(ts, "."); below && strings.Trim(path, "123456789") != "" {
		return fmt.Errorf("its %s has the decimals %s: there can be 1 to 9 only", attrTS, path)
	}
	return nil
}

// verifyKeys checks that maps have members for ids only.
func (r *row) verifyKeys() error {
	for attr, m := range r.maps {
		if _, field := fieldName(attr); !field && attr != attrAt && attr != attrScale {
			continue
		}
		for key := range m {
			if !r.keys[key] {
				return fmt.Errorf("attribute %s has a member %.80q, which is not in %s", attr, key, attrIDs)
			}
		}
	}
	return nil
}

// verifyTTL checks that a row cannot be deleted before its readings expire.
func (r *row) verifyTTL(list []varve.Reading) error {
	for i := range list {
		last := list[i].Time
		if list[i].Arrived.After(last) {
			last = list[i].Arrived
		}
		if r.ttl != 0 && r.ttl < last.Unix() {
			return fmt.Errorf("its %s is before its readings' time", attrTTL)
		}
	}
	if r.ttl < 0 || r.sized && r.bytes <= 0 {
		return fmt.Errorf("its %s or %s is negative", attrTTL, attrSize)
	}
	return nil
}

// verifyReadings checks the readings of a row that begins at a millisecond.
func verifyReadings(t grid.Table, r *row, ms int64, list []varve.Reading) error {
	for i := range list {
		reading := &list[i]
		offset := reading.Time.Sub(time.UnixMilli(ms))
		switch key := rowKey(reading, ms, false); {
		case offset >= store.MaxRowWindow:
			return fmt.Errorf("reading %s lies %s behind its %s", reading.ID, offset, attrTS)
		case offset >= time.Millisecond && !r.keys[rowKey(reading, ms, true)],
			offset < time.Millisecond && !r.keys[key] && !r.keys[rowKey(reading, ms, true)]:
			return fmt.Errorf("reading %s has another key than its time and id make", reading.ID)
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
