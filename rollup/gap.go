package rollup

import (
	"strconv"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

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
