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
	"golang.org/x/sync/singleflight"
)

const (
	// recentFor is the maximum age of the stream rows in recentRows.
	recentFor = time.Minute
	// readTimeout limits a shared read of the stream rows of all tables.
	readTimeout = 2 * time.Minute
)

// recentRows has the stream rows of all tables from the last read.
type recentRows struct {
	reading singleflight.Group

	mu     sync.Mutex
	read   time.Time
	tables map[grid.Table][]row.Stream
}

// StreamLayout implements store.LayoutReader.
func (l *Layouts) StreamLayout(ctx context.Context, tenant, stream string) (found store.StreamLayout, err error) {
	all, err := l.readRecent(ctx)
	if err != nil {
		return found, err
	}
	merged := Merged{}
	for t, rows := range all {
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

// readRecent returns the stream rows of all tables, which may be as old as recentFor. Concurrent callers
// share one read. The caller must not change the rows.
func (l *Layouts) readRecent(ctx context.Context) (map[grid.Table][]row.Stream, error) {
	v := &l.recent
	v.mu.Lock()
	read, all := v.read, v.tables
	v.mu.Unlock()
	if all != nil && time.Since(read) < recentFor {
		return all, nil
	}
	done := v.reading.DoChan("", func() (any, error) {
		// Do not cancel the read when the context of the first caller ends, because other callers wait
		// for it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		at := time.Now()
		all, err := l.readAll(ctx)
		if err != nil {
			return nil, err
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.read, v.tables = at, all
		return all, nil
	})
	select {
	case res := <-done:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(map[grid.Table][]row.Stream), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
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
