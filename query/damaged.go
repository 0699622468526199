package query

import (
	"github.com/varvedb/varve/store"
	"slices"
	"sync"
)

// damage collects the damaged rows that a query skips.
type damage struct {
	mu   sync.Mutex
	rows []store.DamagedRow
}

// collect returns a callback for damaged rows, or nil if the query must not skip them.
func (d *damage) collect(skip bool) func(*store.DamagedRow) {
	if !skip {
		return nil
	}
	return func(row *store.DamagedRow) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !slices.Contains(d.rows, *row) {
			d.rows = append(d.rows, *row)
		}
	}
}

// addTo adds the skipped rows to a coverage, and adds their tables to its failed tables.
func (d *damage) addTo(c *Coverage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.Damaged = slices.Clone(d.rows)
	for _, row := range d.rows {
		if !slices.Contains(c.Failed, row.Table) {
			c.Failed = append(slices.Clone(c.Failed), row.Table)
		}
	}
}
