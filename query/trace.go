package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

const maxCopies = 100

// Trace is the state of the readings of one series in a short window.
type Trace struct {
	Class  string        // the class into whose tables the stream is written
	Keep   time.Duration // the retention of a reading that arrives now
	Rule   string        // the setting that determines this retention
	Copies []TracedCopy  // all stored copies, including expired ones; at most 100
	Tables []store.Info  // the existing tables that can contain readings of the window, with details
}

// TracedCopy is one stored copy of a reading.
type TracedCopy struct {
	varve.Reading
	Table   grid.Table
	Expires time.Time // zero means never
	Alive   bool
	Rule    string // the setting that determines the retention of the copy
}

// Trace searches all tables for the readings of a series in a window, whether they have expired or
// not. It finds every copy that was acknowledged before the call, up to maxCopies.
func (e *Engine) Trace(ctx context.Context, s varve.Series, w varve.Window) (Trace, error) {
	q := Query{Series: s, Window: w, Consistent: true, Expired: true}
	if err := q.Validate(); err != nil {
		return Trace{}, err
	}
	k, err := e.knownStream(ctx, s.Tenant, s.Stream, true)
	if err != nil {
		return Trace{}, err
	}
	most := retention.Forever
	if e.opts.Retention != nil {
		if most, err = e.opts.Retention(ctx, s.Tenant, s.Device); err != nil {
			return Trace{}, err
		}
	}
	p, err := e.plan(ctx, &q, &k)
	if err != nil {
		return Trace{}, err
	}
	class := e.opts.Policy.ClassOf(s.Stream).Name
	now := ruleOf(e.opts.Policy, s.Stream, class, most)
	t := Trace{Class: class, Keep: now.keep, Rule: now.name}
	if t.Tables, err = e.tracedTables(ctx, &k, w, e.retentions(&k.stream, most)); err != nil {
		return Trace{}, err
	}
	for i := range p.tables {
		if err := e.traceTable(ctx, &t, &q, &p, &p.tables[i], most); err != nil {
			return Trace{}, err
		}
	}
	return t, nil
}

func (e *Engine) tracedTables(ctx context.Context, k *known, w varve.Window, retentions map[string]time.Duration) ([]store.Info, error) {
	f := store.Filter{Window: w, Details: true, Fresh: k.fresh, Version: k.version}
	for prefix := range retentions {
		f.Prefixes = append(f.Prefixes, prefix)
	}
	infos, err := e.opts.Catalog.Tables(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	return infos, nil
}

// traceTable adds the copies in one table to a trace, up to maxCopies in all.
func (e *Engine) traceTable(ctx context.Context, t *Trace, q *Query, p *plan, table *planned, most time.Duration) error {
	class, _ := e.opts.Policy.ClassOfPrefix(table.Prefix)
	rule := ruleOf(e.opts.Policy, q.Series.Stream, class.Name, most)
	cutoff := retention.Cutoff(e.opts.Now(), rule.keep)
	r := q.rangeOf(table.Table, p.layout, nil, 0)
	for {
		page, err := e.opts.Reader.Read(ctx, r, nil)
		if errors.Is(err, store.ErrNoTable) {
			return nil // the table was dropped after it was listed
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", table.Table, err)
		}
		for i := range page.Readings {
			c := &page.Readings[i]
			last := c.Arrived
			if c.Time.After(last) {
				last = c.Time
			}
			t.Copies = append(t.Copies, TracedCopy{
				Reading: c.Clone(), Table: table.Table, Expires: retention.Add(last, rule.keep), Alive: c.Alive(cutoff), Rule: rule.name,
			})
		}
		if !page.More || len(t.Copies) >= maxCopies {
			t.Copies = t.Copies[:min(len(t.Copies), maxCopies)]
			return nil
		}
		last := page.Readings[len(page.Readings)-1].Position()
		r.After = &last
	}
}
