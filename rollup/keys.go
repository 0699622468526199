package rollup

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

const (
	hourSeconds = int64(time.Hour / time.Second)
	daySeconds  = 24 * hourSeconds
	dayHours    = 24
	// shards is over how many partitions of the index marks are spread.
	shards = 16
)

// hourOf returns in which hour since 1970 a second lies, and dayOf in which day.
func hourOf(sec int64) int64 { return sec / hourSeconds }
func dayOf(sec int64) int64  { return sec / daySeconds }

const partition = "ROLLUP#"

func pkOf(s varve.Series) string { return partition + s.String() }

// dayText writes a day as 20261121.
func dayText(day int64) string { return time.Unix(day*daySeconds, 0).UTC().Format("20060102") }

func parseDay(text string) (int64, error) {
	t, err := time.Parse("20060102", text)
	return dayOf(t.Unix()), err
}

// hourKey is the key of an hour's partial, and dayKey of a day's.
func hourKey(s varve.Series, hour, arrival int64) store.Key {
	return store.Key{PK: pkOf(s), SK: fmt.Sprintf("H#%010d#%s", hour*hourSeconds, dayText(arrival))}
}

func dayKey(s varve.Series, day, arrival int64) store.Key {
	return store.Key{PK: pkOf(s), SK: "D#" + dayText(day) + "#" + dayText(arrival)}
}

// partKey is the key of an item that a partial has beyond its first, counted
// from 1: they come behind it, in order.
func partKey(first store.Key, part int) store.Key {
	return store.Key{PK: first.PK, SK: fmt.Sprintf("%s#%04d", first.SK, part)}
}

// parseKey reads the sort key of a partial's item: which hour or day it is of,
// and which part it is; the first is 0.
func parseKey(sk string) (at slot, part int64, err error) {
	columns := strings.Split(sk, "#")
	if len(columns) != 3 && len(columns) != 4 {
		return at, 0, fmt.Errorf("%q is no key of a roll-up", sk)
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
		return at, 0, fmt.Errorf("%q is no key of a roll-up: %w", sk, err)
	}
	return at, part, nil
}

// mark says that hours of a series are dirty, as to readings that arrive on a
// day: what is at rest of them may be behind.
type mark struct {
	from    int64 // the first hour
	hours   int64 // 1, or 24 for a day
	arrival int64 // the day
	until   int64 // unix seconds: writers rely on it before
}

func (m mark) covers(hour int64) bool { return hour >= m.from && hour < m.from+m.hours }

// day returns the day of event time. No mark reaches over its end.
func (m mark) day() int64 { return m.from / dayHours }

// tail is the part of a mark's keys that tells it from others of its series.
func (m mark) tail() string {
	return fmt.Sprintf("#%s#%010d#%02d", dayText(m.arrival), m.until, m.hours)
}

func (m mark) key(s varve.Series) store.Key {
	return store.Key{PK: pkOf(s), SK: markFrom(m.from) + m.tail()}
}

// markFrom is where the marks from an hour on begin.
func markFrom(hour int64) string { return fmt.Sprintf("X#%010d", hour*hourSeconds) }

// item returns the mark's item: its keys say all.
func (m mark) item(s varve.Series) store.Item {
	return store.Item{Key: m.key(s), GSI1: store.Key{
		PK: dirty(int(xxhash.Sum64String(s.String()) % shards)),
		SK: fmt.Sprintf("%010d#%s#%010d", m.until, s, m.from*hourSeconds) + m.tail(),
	}}
}

// dirty is a partition of marks in the index; they are there in the order of
// their ends.
func dirty(shard int) string { return fmt.Sprintf("DIRTY#%02d", shard) }

// parseMark reads the key of a mark.
func parseMark(k store.Key) (s varve.Series, m mark, err error) {
	wrong := fmt.Errorf("item %s %s: not the key of a mark", k.PK, k.SK)
	name, ok := strings.CutPrefix(k.PK, partition)
	tenant, rest, ok1 := strings.Cut(name, "/")
	stream, device, ok2 := strings.Cut(rest, "/")
	s = varve.Series{Tenant: tenant, Stream: stream, Device: device}
	parts := strings.Split(k.SK, "#")
	if !ok || !ok1 || !ok2 || len(parts) != 5 {
		return s, m, wrong
	}
	from, err1 := strconv.ParseInt(parts[1], 10, 64)
	arrival, err2 := parseDay(parts[2])
	until, err3 := strconv.ParseInt(parts[3], 10, 64)
	hours, err4 := strconv.ParseInt(parts[4], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return s, m, wrong
	}
	return s, mark{from: hourOf(from), hours: hours, arrival: arrival, until: until}, nil
}

// Gap is a range of registry keys whose items are lost, or may be outdated. Both
// ends belong to the range; a zero end is open.
type Gap struct{ First, Last store.Key }

// HasRollups reports whether roll-ups of any series may lie in the gap.
func (g Gap) HasRollups() bool {
	return (g.First.IsZero() || g.First.PK < store.PrefixEnd(partition)) && (g.Last.IsZero() || g.Last.PK >= partition)
}

// Series returns the first and the last series of the gap, as text; "" is open.
func (g Gap) Series() (first, last string) {
	if name, ok := strings.CutPrefix(g.First.PK, partition); ok {
		first = name
	}
	if name, ok := strings.CutPrefix(g.Last.PK, partition); ok {
		last = name
	}
	return first, last
}

// SeriesPrefix returns the beginning of the partitions that hold roll-ups.
func SeriesPrefix() string { return partition }

// ParseSeries reads the series of a partition that holds roll-ups.
func ParseSeries(pk string) (s varve.Series, ok bool) {
	name, ok := strings.CutPrefix(pk, partition)
	tenant, rest, ok1 := strings.Cut(name, "/")
	stream, device, ok2 := strings.Cut(rest, "/")
	return varve.Series{Tenant: tenant, Stream: stream, Device: device}, ok && ok1 && ok2
}

// days returns the days of event time whose roll-ups or marks of a series may lie
// in the gap.
func (g Gap) days(s varve.Series) (list []dayRange) {
	pk := pkOf(s)
	if !g.First.IsZero() && g.First.PK > pk || !g.Last.IsZero() && g.Last.PK < pk {
		return nil
	}
	first, last := "", "~"
	if g.First.PK == pk {
		first = g.First.SK
	}
	if g.Last.PK == pk {
		last = g.Last.SK
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

// dayRange is a run of days: from, to (exclusive).
type dayRange struct{ from, to int64 }

func allDays() dayRange {
	all := varve.AllTime()
	return dayRange{dayOf(all.From.Unix()), dayOf(all.To.Unix()) + 1}
}

// dayOfKey reads the day in a sort key of a kind.
func dayOfKey(kind, sk string) (day int64, ok bool) {
	rest, ok := strings.CutPrefix(sk, kind+"#")
	if !ok {
		return 0, false
	}
	text, _, _ := strings.Cut(rest, "#")
	if kind == "D" {
		day, err := parseDay(text)
		return day, err == nil
	}
	sec, err := strconv.ParseInt(text, 10, 64)
	return dayOf(sec), err == nil
}
