package rollup

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// markerShards is the number of index partitions over which markers are spread.
const markerShards = 16

const partitionPrefix = "ROLLUP#"

func partitionOf(s varve.Series) string { return partitionPrefix + s.String() }

// SeriesPrefix returns the prefix of the partitions that contain roll-ups.
func SeriesPrefix() string { return partitionPrefix }

// ParseSeries returns the series whose roll-ups are in a partition. It returns false for other
// partitions.
func ParseSeries(pk string) (s varve.Series, ok bool) {
	name, ok := strings.CutPrefix(pk, partitionPrefix)
	tenant, path, ok1 := strings.Cut(name, "/")
	stream, device, ok2 := strings.Cut(path, "/")
	return varve.Series{Tenant: tenant, Stream: stream, Device: device}, ok && ok1 && ok2
}

func hourKey(s varve.Series, hour, arrival int64) store.Key {
	return store.Key{PK: partitionOf(s), SK: hourKeyFrom(hour) + "#" + dayText(arrival)}
}

func dayKey(s varve.Series, day, arrival int64) store.Key {
	return store.Key{PK: partitionOf(s), SK: dayKeyFrom(day) + "#" + dayText(arrival)}
}

// hourKeyFrom returns the lower bound of the sort keys of partials of the given hour and later ones.
func hourKeyFrom(hour int64) string { return fmt.Sprintf("H#%010d", hour*hourSeconds) }

// dayKeyFrom returns the lower bound of the sort keys of partials of the given day and later ones.
func dayKeyFrom(day int64) string { return "D#" + dayText(day) }

// partKey returns the key of a further item of a partial, given the key of its first item. Parts
// are numbered from 1, and sort after the first item, in order.
func partKey(first store.Key, part int) store.Key {
	return store.Key{PK: first.PK, SK: fmt.Sprintf("%s#%04d", first.SK, part)}
}

// parsePartialKey parses the sort key of an item of a partial. The first item is part 0. In the
// key of a day's partial, slot.hour is the number of the day.
func parsePartialKey(sk string) (at slot, part int64, err error) {
	columns := strings.Split(sk, "#")
	if len(columns) != 3 && len(columns) != 4 {
		return at, 0, fmt.Errorf("%q is not a key of a roll-up", sk)
	}
	var errs [3]error
	if columns[0] == "D" {
		at.hour, errs[0] = parseDay(columns[1])
	} else {
		at.hour, errs[0] = strconv.ParseInt(columns[1], 10, 64)
		at.hour = hourOf(at.hour)
	}
	at.arrival, errs[1] = parseDay(columns[2])
	if len(columns) == 4 {
		part, errs[2] = strconv.ParseInt(columns[3], 10, 64)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return at, 0, fmt.Errorf("%q is not a key of a roll-up: %w", sk, err)
	}
	return at, part, nil
}

// dirtyMarker records that the stored partials of some hours may lack readings of a series that
// arrive on one day.
type dirtyMarker struct {
	from    int64 // first hour, counted from 1970
	hours   int64 // number of hours: 1, or 24 for a whole day
	arrival int64 // arrival day, counted from 1970
	until   int64 // end of the marker in Unix seconds
}

func (m dirtyMarker) covers(hour int64) bool { return hour >= m.from && hour < m.from+m.hours }

// day returns the day of the marker's hours, which are all on the same day.
func (m dirtyMarker) day() int64 { return m.from / dayHours }

// keySuffix returns the part of a marker's keys after the first hour.
func (m dirtyMarker) keySuffix() string {
	return fmt.Sprintf("#%s#%010d#%02d", dayText(m.arrival), m.until, m.hours)
}

func (m dirtyMarker) key(s varve.Series) store.Key {
	return store.Key{PK: partitionOf(s), SK: markerKeyFrom(m.from) + m.keySuffix()}
}

// markerKeyFrom returns the lower bound of the sort keys of markers that begin at the given hour or
// later.
func markerKeyFrom(hour int64) string { return fmt.Sprintf("X#%010d", hour*hourSeconds) }

// item returns the item of a marker. The keys contain all its data.
func (m dirtyMarker) item(s varve.Series) store.Item {
	return store.Item{Key: m.key(s), GSI1: store.Key{
		PK: markerPartition(int(xxhash.Sum64String(s.String()) % markerShards)),
		SK: fmt.Sprintf("%010d#%s#%010d", m.until, s, m.from*hourSeconds) + m.keySuffix(),
	}}
}

// markerPartition returns the key of an index partition, in which markers are sorted by their
// end.
func markerPartition(shard int) string { return fmt.Sprintf("DIRTY#%02d", shard) }

func parseMarker(k store.Key) (s varve.Series, m dirtyMarker, err error) {
	wrong := fmt.Errorf("item %s %s: not the key of a dirty marker", k.PK, k.SK)
	s, ok := ParseSeries(k.PK)
	parts := strings.Split(k.SK, "#")
	if !ok || len(parts) != 5 {
		return s, m, wrong
	}
	from, err1 := strconv.ParseInt(parts[1], 10, 64)
	arrival, err2 := parseDay(parts[2])
	until, err3 := strconv.ParseInt(parts[3], 10, 64)
	hours, err4 := strconv.ParseInt(parts[4], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return s, m, wrong
	}
	return s, dirtyMarker{from: hourOf(from), hours: hours, arrival: arrival, until: until}, nil
}

// dirtySlots returns the slots inside a span that are covered by markers.
func dirtySlots(markers []dirtyMarker, within span) map[slot]bool {
	dirty := map[slot]bool{}
	for _, m := range markers {
		for h := max(m.from, within.from); h < min(m.from+m.hours, within.to); h++ {
			dirty[slot{h, m.arrival}] = true
		}
	}
	return dirty
}

// LostKeys is a range of registry keys whose items may be lost or outdated. It includes both
// ends. A zero key means that the range has no limit at that end.
type LostKeys struct{ First, Last store.Key }

// HasRollups reports whether the range may contain roll-ups of any series.
func (k LostKeys) HasRollups() bool {
	return (k.First.IsZero() || k.First.PK < store.PrefixEnd(partitionPrefix)) && (k.Last.IsZero() || k.Last.PK >= partitionPrefix)
}

// Series returns the first and the last series of the range as text. An empty text means that the
// range has no limit at that end.
func (k LostKeys) Series() (first, last string) {
	if name, ok := strings.CutPrefix(k.First.PK, partitionPrefix); ok {
		first = name
	}
	if name, ok := strings.CutPrefix(k.Last.PK, partitionPrefix); ok {
		last = name
	}
	return first, last
}

// days returns the days for which roll-ups or markers of the series may be in the range.
func (k LostKeys) days(s varve.Series) (list []dayRange) {
	pk := partitionOf(s)
	if !k.First.IsZero() && k.First.PK > pk || !k.Last.IsZero() && k.Last.PK < pk {
		return nil
	}
	first, last := "", "~"
	if k.First.PK == pk {
		first = k.First.SK
	}
	if k.Last.PK == pk {
		last = k.Last.SK
	}
	for _, kind := range []string{"D", "H", "X"} {
		if last < kind+"#" || first >= kind+"$" { // $ is the character after #
			continue
		}
		r := allDays()
		if day, ok := dayOfKey(kind, first); ok {
			r.from = day
		}
		if day, ok := dayOfKey(kind, last); ok {
			r.to = day + 1
		}
		list = append(list, r)
	}
	return list
}

// dayRange is a range of days. It includes the day "from" and excludes the day "to".
type dayRange struct{ from, to int64 }

func (r dayRange) span() span { return span{r.from * dayHours, r.to * dayHours} }

func allDays() dayRange {
	all := varve.AllTime()
	return dayRange{dayOf(all.From.Unix()), dayOf(all.To.Unix()) + 1}
}

// dayOfKey returns the day in a sort key that begins with the given kind: D, H or X.
func dayOfKey(kind, sk string) (day int64, ok bool) {
	columns, ok := strings.CutPrefix(sk, kind+"#")
	if !ok {
		return 0, false
	}
	text, _, _ := strings.Cut(columns, "#")
	if kind == "D" {
		day, err := parseDay(text)
		return day, err == nil
	}
	sec, err := strconv.ParseInt(text, 10, 64)
	return dayOf(sec), err == nil
}
