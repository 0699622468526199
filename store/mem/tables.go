package mem

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// tableCalls implements store.Catalog, store.Creator and store.Lifecycle.
type tableCalls struct{ *state }

// Tables implements store.Catalog.
func (s tableCalls) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	var infos []store.Info
	for _, tb := range s.listed {
		wanted := slices.Contains(f.Prefixes, tb.info.Prefix) || f.Any && tb.info.Owned
		if !wanted || !tb.info.Overlaps(f.Window) {
			continue
		}
		if f.SkipEmpty && tb.info.Readings == 0 {
			continue
		}
		infos = append(infos, tb.info)
	}
	return infos, nil
}

// add stores a table under its name, and lists the table if the name can be parsed. The caller must
// have locked mu.
func (s tableCalls) add(name string, tb *table) {
	s.tables[name] = tb
	if _, ok := grid.Parse(name); ok {
		at, _ := s.place(tb.info.Table)
		s.listed = slices.Insert(s.listed, at, tb)
	}
}

func (s tableCalls) place(t grid.Table) (int, bool) {
	return slices.BinarySearchFunc(s.listed, t, func(tb *table, t grid.Table) int {
		return tb.info.Table.Compare(t)
	})
}

// Create implements store.Creator.
func (s tableCalls) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	if tb, ok := s.tables[t.Name()]; ok {
		if !tb.info.Owned {
			return fmt.Errorf("create %s: %w", t, store.ErrForeign)
		}
		return nil
	}
	s.add(t.Name(), &table{
		info: store.Info{Table: t, Status: store.Active, Tier: tier, Created: s.now().UTC(), Owned: true},
		rows: map[varve.Series][]*varve.Reading{},
	})
	return nil
}

// PlantForeign adds a table of another program. With it, tests check that Varve does not change
// foreign tables.
func (s tableCalls) PlantForeign(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, _ := grid.Parse(name)
	s.add(name, &table{info: store.Info{Table: t, Status: store.Active}})
}

// Names returns the names of all tables, including foreign ones, in random order.
func (s tableCalls) Names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]string, 0, len(s.tables))
	for name := range s.tables {
		names = append(names, name)
	}
	return names
}

// change locks the store, and calls the function "do" with the Info of a table.
func (s tableCalls) change(ctx context.Context, t grid.Table, do func(*store.Info) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	tb, err := s.table(t)
	if err != nil {
		return err
	}
	return do(&tb.info)
}

// Tune implements store.Lifecycle.
func (s tableCalls) Tune(ctx context.Context, t grid.Table, tier store.Tier) error {
	return s.change(ctx, t, func(in *store.Info) error { in.Tier = tier; return nil })
}

// Retire implements store.Lifecycle.
func (s tableCalls) Retire(ctx context.Context, t grid.Table, at time.Time) error {
	return s.change(ctx, t, func(in *store.Info) error {
		if err := store.Retirable(in); err != nil {
			return err
		}
		in.Retired = at.UTC()
		return nil
	})
}

// Restore implements store.Lifecycle.
func (s tableCalls) Restore(ctx context.Context, t grid.Table) error {
	return s.change(ctx, t, func(in *store.Info) error { in.Retired = time.Time{}; return nil })
}

// Hold implements store.Lifecycle.
func (s tableCalls) Hold(ctx context.Context, t grid.Table, reason string) error {
	return s.change(ctx, t, func(in *store.Info) error { in.Hold = reason; return nil })
}

// Drop implements store.Lifecycle.
func (s tableCalls) Drop(ctx context.Context, t grid.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	tb, err := s.table(t)
	if err != nil {
		return err
	}
	if err := store.Droppable(&tb.info); err != nil {
		return err
	}
	delete(s.tables, t.Name())
	at, _ := s.place(t)
	s.listed = slices.Delete(s.listed, at, at+1)
	s.versions.End(s.versions.Begin(nil))
	return nil
}
