package calendar

import (
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// leastSpan is the shortest time over which a load is averaged.
const leastSpan = time.Hour

// DailyLoad returns the average load of a day for each class. It uses the tables of the arrival
// month that contains the time "now", and of the month before. The measurement begins when the first
// of these tables was created, but not before the earlier month.
//
// If the store deletes expired readings, the measurement excludes the time whose readings have been
// deleted. The parameter "grace" is the same as Options.ExpireGrace.
func DailyLoad(p rotator.Policy, grace time.Duration, now time.Time, tables []store.Info) map[string]Load {
	month := grid.MonthOf(now)
	sums, begins := map[string]Load{}, map[string]time.Time{}
	for i := range tables {
		in := &tables[i]
		class, ok := p.Retention.ClassOfPrefix(in.Prefix)
		if !ok || in.Month != month && in.Month != month-1 {
			continue
		}
		begin := (month - 1).Start()
		begin = later(begin, in.Created)
		if p.Drop && !p.ArchiveFirst && class.Retention != retention.Forever {
			begin = later(begin, deletedUntil(&p, grace, class.Retention, now))
		}
		if first, ok := begins[class.Name]; !ok || begin.Before(first) {
			begins[class.Name] = begin
		}
		sums[class.Name] = sums[class.Name].plus(Load{Readings: float64(in.Readings), Bytes: float64(in.Bytes)})
	}
	daily := map[string]Load{}
	for class, sum := range sums {
		if sum.Readings > 0 {
			span := max(now.Sub(begins[class]), leastSpan)
			l := sum.scaled(float64(day) / float64(span))
			l.Measured = span
			daily[class] = l
		}
	}
	return daily
}

// Assume replaces the measured load of a class with a number of readings a day, of the measured size.
func Assume(daily map[string]Load, class string, readings float64) {
	l := Load{Readings: readings}
	if old := daily[class]; old.Readings > 0 {
		l.Bytes = old.Bytes / old.Readings * readings
	}
	daily[class] = l
}

// Reassign returns the load under another policy. If the policy lacks a class, the load of the
// class counts for the default class.
func Reassign(daily map[string]Load, p *retention.Policy) map[string]Load {
	moved := map[string]Load{}
	for class, l := range daily {
		if _, ok := p.ClassOfPrefix(p.TablePrefix(class)); !ok {
			class = retention.DefaultClass
		}
		moved[class] = moved[class].plus(l)
	}
	return moved
}
