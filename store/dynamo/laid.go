package dynamo

import (
	"context"
	"errors"
	"sync"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"golang.org/x/sync/errgroup"
)

// laidMost bounds how many rows of streams are remembered.
const laidMost = 100_000

// laid remembers what the rows of streams cover, so that writes need not ask.
// They only ever widen.
type laid struct {
	mu   sync.RWMutex
	rows map[laidIn]*streamRow
	// known and surveyed are how many such rows a table has, of those that are
	// remembered and at the last survey.
	known, surveyed map[grid.Table]int
}

// laidIn is a stream in a table.
type laidIn struct {
	table          grid.Table
	tenant, stream string
}

func (l *laid) covers(at laidIn, device string, layout store.Layout) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	r := l.rows[at]
	return r != nil && r.covers(device, layout)
}

func (l *laid) remember(at laidIn, r *streamRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows == nil || len(l.rows) >= laidMost {
		l.rows, l.known = map[laidIn]*streamRow{}, map[grid.Table]int{}
	}
	if l.rows[at] == nil {
		l.known[at.table]++
	}
	l.rows[at] = r
}

// survey remembers how many rows of streams a table has.
func (l *laid) survey(t grid.Table, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.surveyed == nil {
		l.surveyed = map[grid.Table]int{}
	}
	l.surveyed[t] = n
}

// in returns how many rows of a table are known to be of streams. Other
// processes may have written some more.
func (l *laid) in(t grid.Table) int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return int64(max(l.known[t], l.surveyed[t]))
}

// forget forgets all rows of a table, which is gone or new.
func (l *laid) forget(t grid.Table) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := range l.rows {
		if at.table == t {
			delete(l.rows, at)
		}
	}
	delete(l.known, t)
	delete(l.surveyed, t)
}

// prepare makes tables ready to be written to: their records say that they are
// used, and their rows of streams cover what is written. It returns the errors
// of groups that cannot be written.
func (s *Store) prepare(ctx context.Context, groups []group) []error {
	failed := make([]error, len(groups))
	unusable := s.useAll(ctx, groups)
	want := map[laidIn]*streamRow{}
	var last *group
	for i := range groups {
		g := &groups[i]
		if failed[i] = notTheirs(unusable[g.table]); failed[i] != nil {
			continue
		}
		if last != nil && g.table == last.table && g.series == last.series {
			continue // of one series in one write, all have one layout
		}
		last = g
		at := laidIn{g.table, g.series.Tenant, g.series.Stream}
		if s.laid.covers(at, g.series.Device, g.layout) {
			continue
		}
		if want[at] == nil {
			want[at] = &streamRow{tenant: at.tenant, stream: at.stream}
		}
		want[at].widen(g.series.Device, g.layout)
	}
	if len(want) == 0 {
		return failed
	}
	unlaid := s.layAll(ctx, want)
	for i := range groups {
		g := &groups[i]
		if failed[i] == nil {
			failed[i] = notTheirs(unlaid[laidIn{g.table, g.series.Tenant, g.series.Stream}])
		}
	}
	return failed
}

// layAll makes rows of streams cover what is wanted, and returns the errors of
// those that do not.
func (s *Store) layAll(ctx context.Context, want map[laidIn]*streamRow) map[laidIn]error {
	unlaid := map[laidIn]error{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(s.opts.Parallel)
	for at, row := range want {
		g.Go(func() error {
			is, err := s.lay(ctx, at.table, row)
			if err == nil {
				s.laid.remember(at, is)
				return nil
			}
			if errors.Is(err, store.ErrNoTable) {
				s.forgetTable(at.table)
			}
			mu.Lock()
			defer mu.Unlock()
			unlaid[at] = err
			return nil
		})
	}
	_ = g.Wait() // each row has its own error
	return unlaid
}

// forgetTable forgets what is known of a table that may be gone.
func (s *Store) forgetTable(t grid.Table) {
	s.noted.forget(t)
	s.laid.forget(t)
}
