package archive

import (
	"fmt"
	"sort"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
)

// tableCounts counts the readings of a merged archive by table. If nil, it counts nothing.
type tableCounts struct {
	tables []grid.Table // in the order of their event ranges, which are disjoint
	totals []Totals
	at     int // index of the table of the last reading of the series
	last   int // index of the table in which the series was counted last
}

// newTableCounts returns empty counts, or nil without tables.
func newTableCounts(tables []grid.Table) *tableCounts {
	if len(tables) == 0 {
		return nil
	}
	return &tableCounts{tables: tables, totals: make([]Totals, len(tables))}
}

func tableCountsOf(m *Manifest) (*tableCounts, error) {
	tables, err := m.tables()
	return newTableCounts(tables), err
}

func (m *Manifest) tables() (tables []grid.Table, err error) {
	for i := range m.Tables {
		t, ok := grid.Parse(m.Tables[i].Table)
		if !ok {
			return nil, fmt.Errorf("the manifest names table %q", m.Tables[i].Table)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

func (c *tableCounts) beginSeries() {
	if c != nil {
		c.at, c.last = 0, -1
	}
}

// add counts a reading. The readings of a series must be in ascending order.
func (c *tableCounts) add(at int64, hash uint64) error {
	if c == nil {
		return nil
	}
	sec := at / int64(time.Second)
	for c.at < len(c.tables) && c.tables[c.at].End <= sec {
		c.at++
	}
	if c.at == len(c.tables) || sec < c.tables[c.at].Start {
		return fmt.Errorf("reading %d belongs to no table of the merged archive", at)
	}
	t := &c.totals[c.at]
	if c.last != c.at {
		c.last = c.at
		t.Series++
	}
	t.Readings++
	t.Digest += hash
	return nil
}

func (c *tableCounts) entries() (list []TableEntry) {
	if c == nil {
		return nil
	}
	for i := range c.tables {
		list = append(list, c.totals[i].entry(c.tables[i].Name()))
	}
	return list
}

func (t Totals) entry(table string) TableEntry {
	return TableEntry{Table: table, Readings: t.Readings, Series: t.Series, Digest: digestText(t.Digest)}
}

func (m *Manifest) total() TableEntry {
	return TableEntry{Table: m.Table, Readings: m.Readings, Series: m.Series, Digest: m.Digest}
}

// rowsIn returns the first row of a block in a window, and the row after the last one.
func rowsIn(b *block.Block, w varve.Window) (from, to int) {
	from = sort.Search(b.Len(), func(i int) bool { return b.Times[i] >= w.From.UnixNano() })
	to = from + sort.Search(b.Len()-from, func(i int) bool { return b.Times[from+i] >= w.To.UnixNano() })
	return from, to
}
