package main

import (
	"github.com/varvedb/varve/api/wire"
)

// planLine is a line of a plan: an action on one table. In output for people, it may stand for
// several empty tables with the same action and reason.
type planLine struct {
	action, name, reason string
	readings, bytes      int64
	tables               int // number of tables that the line stands for
}

func (l *planLine) table() string {
	if l.tables == 1 {
		return l.name
	}
	return count(l.tables, "empty table")
}

// planLines returns a line for each table that a plan acts on or skips.
func planLines(p *wire.PlanBody) (lines []planLine) {
	for _, a := range p.Actions {
		lines = append(lines, planLine{action: a.Action, name: a.Table, reason: a.Reason, readings: a.Readings, bytes: a.Bytes, tables: 1})
	}
	for _, k := range p.Skipped {
		lines = append(lines, planLine{action: "skip", name: k.Table, reason: k.Reason, readings: k.Readings, bytes: k.Bytes, tables: 1})
	}
	return lines
}

// together merges the lines of empty tables with the same action and reason.
func together(lines []planLine) (fewer []planLine) {
	type same struct{ action, reason string }
	at := map[same]int{}
	for _, l := range lines {
		if l.readings > 0 {
			fewer = append(fewer, l)
			continue
		}
		key := same{l.action, l.reason}
		i, seen := at[key]
		if !seen {
			at[key] = len(fewer)
			fewer = append(fewer, l)
			continue
		}
		fewer[i].tables++
		fewer[i].bytes += l.bytes
	}
	return fewer
}
