package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"golang.org/x/sync/errgroup"
)

// surveyFor is how long the rows of streams that were read of all tables serve.
const surveyFor = time.Minute

// surveys remembers the rows of streams of all tables, as they were read last.
type surveys struct {
	mu     sync.Mutex // held while they are read
	read   time.Time
	tables map[grid.Table][]streamRow
}

// Survey implements store.Surveyor.
func (s *Store) Survey(ctx context.Context, tenant, stream string) (found store.Survey, err error) {
	if err := s.enter(ctx); err != nil {
		return found, err
	}
	defer s.leave()
	v := &s.surveys
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tables == nil || time.Since(v.read) >= surveyFor {
		at := time.Now()
		tables, err := s.surveyTables(ctx)
		if err != nil {
			return found, err
		}
		v.read, v.tables = at, tables
	}
	all := gathered{}
	for t, rows := range v.tables {
		for i := range rows {
			if rows[i].tenant == tenant && rows[i].stream == stream {
				all.add(t, &rows[i])
			}
		}
	}
	if list := all.surveys(); len(list) > 0 {
		return list[0], nil
	}
	return store.Survey{Tenant: tenant, Stream: stream}, nil
}

// SurveyAll implements store.Surveyor.
func (s *Store) SurveyAll(ctx context.Context) ([]store.Survey, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	tables, err := s.surveyTables(ctx)
	if err != nil {
		return nil, err
	}
	all := gathered{}
	for t, rows := range tables {
		for i := range rows {
			all.add(t, &rows[i])
		}
	}
	return all.surveys(), nil
}

// gathered is what tables say of streams, by their names.
type gathered map[string]*gatheredStream

type gatheredStream struct {
	streamRow
	prefixes []string
}

func (g gathered) add(t grid.Table, r *streamRow) {
	is := g[r.name()]
	if is == nil {
		is = &gatheredStream{streamRow: streamRow{tenant: r.tenant, stream: r.stream}}
		g[r.name()] = is
	}
	is.merge(r)
	if !slices.Contains(is.prefixes, t.Prefix) {
		is.prefixes = append(is.prefixes, t.Prefix)
	}
}

func (g gathered) surveys() (all []store.Survey) {
	for _, name := range slices.Sorted(maps.Keys(g)) {
		found := g[name].survey()
		found.Prefixes = slices.Sorted(slices.Values(g[name].prefixes))
		all = append(all, found)
	}
	return all
}

// surveyTables reads the rows of streams of all tables of this deployment.
func (s *Store) surveyTables(ctx context.Context) (map[grid.Table][]streamRow, error) {
	infos, err := s.load(ctx, &selection{any: true})
	if err != nil {
		return nil, err
	}
	tables := map[grid.Table][]streamRow{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Parallel)
	for i := range infos {
		t := infos[i].Table
		if infos[i].empty || !infos[i].Owned || infos[i].Status == store.Gone {
			continue
		}
		g.Go(func() error {
			rows, bad, err := s.streamRowsOf(ctx, t)
			switch {
			case isNoTable(err):
				return nil
			case err != nil:
				return err
			case len(bad) > 0:
				return fmt.Errorf("%s: %w", t, bad[0])
			}
			s.laid.survey(t, len(rows))
			mu.Lock()
			defer mu.Unlock()
			tables[t] = rows
			return nil
		})
	}
	return tables, g.Wait()
}
