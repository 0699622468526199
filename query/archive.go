package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// Archives selects whether a query reads archived tables.
type Archives uint8

// The selections. With WithArchives and OnlyArchives, a query also returns expired readings,
// because the readings of most archives have expired.
const (
	NoArchives   Archives = iota
	WithArchives          // reads existing tables, and archives with readings that these tables may lack
	OnlyArchives          // reads only archives, even if their tables exist
)

// ParseArchives parses "false", "true" or "only". The empty text means false.
func ParseArchives(text string) (Archives, error) {
	if text == "" {
		return NoArchives, nil
	}
	i := slices.Index([]string{"false", "true", "only"}, text)
	if i < 0 {
		return 0, varve.InvalidParam("archive", "%.40q is unknown: use true, false or only", text)
	}
	return Archives(i), nil
}

// Archive lists archived tables. Only a query that requests archives uses it.
type Archive interface {
	// List returns the archived tables that have one of the prefixes and overlap the window. They
	// include each table that was archived before the call.
	List(ctx context.Context, prefixes []string, w varve.Window) ([]Archived, error)
}

// Archived is the archive of a table.
type Archived struct {
	Table grid.Table
	// Open returns a function that reads the next readings of a range. The parameter "limit" is the
	// largest number of readings in its result.
	Open func(store.Range) (next func(ctx context.Context, limit int) (store.BlockPage, error))
	// Estimate returns the cost of reading a range to its end.
	Estimate func(context.Context, store.Range) (store.Cost, error)
	// IsIn reports whether an existing table has all readings of its archive.
	IsIn func(*store.Info) bool
}

// parallelArchives is the number of tables that a query with archives may always read at the same
// time. An object store answers many requests at the same time, each after tens of milliseconds.
const parallelArchives = 4

// parallelOf returns the maximum number of tables of a plan to read at the same time.
func (e *Engine) parallelOf(p *plan) int {
	if slices.ContainsFunc(p.tables, func(t planned) bool { return t.archived != nil }) {
		return max(e.opts.Parallel, parallelArchives)
	}
	return e.opts.Parallel
}

// normalized returns a copy of the query that includes expired readings if the query reads archives.
func (q *Query) normalized() Query {
	n := *q
	n.Expired = n.Expired || n.Archive != NoArchives
	return n
}

// addArchives adds archived tables to a plan, if the query requests them. For OnlyArchives, it first removes
// all existing tables from the plan. The argument "infos" lists the existing tables. They must be listed
// before addArchives is called, because tables are archived before they are dropped.
func (e *Engine) addArchives(ctx context.Context, q *Query, p *plan, f *store.Filter, infos []store.Info) error {
	if q.Archive == NoArchives {
		return nil
	}
	if e.opts.Archive == nil && q.Archive == OnlyArchives {
		return varve.Errorf(varve.Conflict, "no archive is configured: set archive.kind")
	}
	if e.opts.Archive == nil {
		return varve.Errorf(varve.Conflict, "no archive is configured: omit archive, or set archive.kind")
	}
	list, err := e.opts.Archive.List(ctx, f.Prefixes, q.Window)
	if err != nil {
		return fmt.Errorf("list archives: %w", err)
	}
	if q.Archive == OnlyArchives {
		p.tables, p.later, p.lost = nil, nil, nil
	}
	for i := range list {
		a := &list[i]
		if why := whyLater(a.Table, q.AsOf); why != "" {
			if q.Archive == OnlyArchives || !slices.ContainsFunc(p.later, func(t pruned) bool { return t.Table == a.Table }) {
				p.later = append(p.later, pruned{a.Table, why})
			}
			continue
		}
		p.lost = slices.DeleteFunc(p.lost, func(name string) bool { return name == a.Table.Name() })
		if p.includes(a, infos) {
			continue
		}
		p.tables = append(p.tables, planned{Table: a.Table, asOf: limitOf(a.Table, q.AsOf), archived: a})
	}
	return nil
}

// includes reports whether the plan has the table of an archive, and the table has all readings of the
// archive. It also records the archive in the plan: if the table is dropped before it is read, the archive
// replaces it.
func (p *plan) includes(a *Archived, infos []store.Info) bool {
	for i := range p.tables {
		if t := &p.tables[i]; t.Table == a.Table {
			t.replacement = a
			in := slices.IndexFunc(infos, func(in store.Info) bool { return in.Table == a.Table })
			return a.IsIn(&infos[in])
		}
	}
	return false
}

func (p *pager) readArchived(ctx context.Context, s *source, rng store.Range, w wanted) (store.Page, error) {
	if s.next == nil {
		s.next = s.archived.Open(rng)
	}
	page, err := s.next(ctx, rng.Limit)
	s.parts, page.Readings = page.Parts, s.buf.readings[:0]
	if !w.columns && len(s.parts) > 0 {
		s.page = nil
		s.convertParts()
		page.Readings = s.page
	}
	return page.Page, err
}

// replace makes a source continue with the archive of its table, if the table was dropped since the
// query began. It reports whether the source continues.
func (s *source) replace(err error) bool {
	if s.replacement == nil || !errors.Is(err, store.ErrNoTable) {
		return false
	}
	s.archived, s.replacement = s.replacement, nil
	return true
}

func (e *Engine) explainTable(ctx context.Context, q *Query, p *plan, t *planned) (PlannedTable, error) {
	rng := q.rangeOf(t.Table, p.layout, q.After, 0)
	if t.archived != nil {
		cost, err := t.archived.Estimate(ctx, rng)
		return explained(t.Table, "read", "its archive overlaps the window", cost), err
	}
	cost, err := e.opts.Reader.Estimate(ctx, rng)
	if errors.Is(err, store.ErrNoTable) {
		return explained(t.Table, "skip", "it was dropped during the query", store.Cost{}), nil
	}
	if err != nil {
		return PlannedTable{}, fmt.Errorf("estimate %s: %w", t.Table, err)
	}
	return explained(t.Table, "read", t.whyRead(), cost), nil
}
