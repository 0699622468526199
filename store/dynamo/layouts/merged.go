package layouts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/row"
	"golang.org/x/sync/errgroup"
)

// recentFor is the maximum age of the stream rows in recentRows.
const recentFor = time.Minute

// recentRows has the stream rows of all tables from the last read.
type recentRows struct {
	mu     sync.Mutex // locked during a read
	read   time.Time
	tables map[grid.Table][]row.Stream
}

// StreamLayout implements store.LayoutReader.
func (l *Layouts) StreamLayout(ctx context.Context, tenant, stream string) (found store.StreamLayout, err error) {
	v := &l.recent
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tables == nil || time.Since(v.read) >= recentFor {
		at := time.Now()
		all, err := l.readAll(ctx)
		if err != nil {
			return found, err
		}
		v.read, v.tables = at, all
	}
	merged := Merged{}
	for t, rows := range v.tables {
		for i := range rows {
			if rows[i].Tenant == tenant && rows[i].Stream == stream {
				merged.Add(t, &rows[i])
			}
		}
	}
	if list := merged.Layouts(); len(list) > 0 {
		return list[0], nil
	}
	return store.StreamLayout{Tenant: tenant, Stream: stream}, nil
}

// StreamLayouts implements store.LayoutReader.
func (l *Layouts) StreamLayouts(ctx context.Context) ([]store.StreamLayout, error) {
	all, err := l.readAll(ctx)
	if err != nil {
		return nil, err
	}
	merged := Merged{}
	for t, rows := range all {
		for i := range rows {
			merged.Add(t, &rows[i])
		}
	}
	return merged.Layouts(), nil
}

func (l *Layouts) readAll(ctx context.Context) (map[grid.Table][]row.Stream, error) {
	listed, err := l.tables.Catalog.All(ctx)
	if err != nil {
		return nil, err
	}
	all := map[grid.Table][]row.Stream{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(l.parallel)
	for i := range listed {
		t := listed[i].Table
		if !listed[i].HasRows() {
			continue
		}
		g.Go(func() error {
			rows, bad, err := l.Read(ctx, t)
			switch {
			case client.IsNoTable(err):
				return nil
			case err != nil:
				return err
			case len(bad) > 0:
				return fmt.Errorf("%s: %w", t, bad[0])
			}
			l.known.setCount(t, len(rows))
			mu.Lock()
			defer mu.Unlock()
			all[t] = rows
			return nil
		})
	}
	return all, g.Wait()
}

// Merged has the layouts of streams by name, merged over several tables.
type Merged map[string]*mergedStream

type mergedStream struct {
	row.Stream

	prefixes []string
}

// Add merges the stream row of a table into the layouts.
func (m Merged) Add(t grid.Table, s *row.Stream) {
	is := m[s.Name()]
	if is == nil {
		is = &mergedStream{Stream: row.Stream{Tenant: s.Tenant, Stream: s.Stream}}
		m[s.Name()] = is
	}
	is.Merge(s)
	if !slices.Contains(is.prefixes, t.Prefix) {
		is.prefixes = append(is.prefixes, t.Prefix)
	}
}

// Layouts returns the merged layouts, ordered by tenant and name.
func (m Merged) Layouts() (all []store.StreamLayout) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		found := m[name].StreamLayout()
		found.Prefixes = slices.Sorted(slices.Values(m[name].prefixes))
		all = append(all, found)
	}
	return all
}
