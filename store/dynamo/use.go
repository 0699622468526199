package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// noted are the tables whose records are known to say that they are in use. A
// record is looked at again after a while: somebody else may have dropped the
// table and made it anew.
type noted struct {
	mu   sync.Mutex
	at   map[grid.Table]time.Time
	seen map[grid.Table]time.Time // when tables were known to be there
	made map[grid.Table]time.Time // when tables were made, by their records
}

// notedFor is how long a look at a record serves.
const notedFor = 10 * time.Minute

func (n *noted) has(t grid.Table) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.at[t]
	return ok && time.Since(at) < notedFor
}

// add remembers a look at a record, and reports whether its table is another one
// than it was at the last look.
func (n *noted) add(t grid.Table, made time.Time) (another bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at == nil {
		n.at, n.made = map[grid.Table]time.Time{}, map[grid.Table]time.Time{}
	}
	before, known := n.made[t]
	n.at[t], n.made[t] = time.Now(), made
	return known && !before.Equal(made)
}

// metFor is how long a table that was there is taken to be there, by writes that
// closed rows answer.
const metFor = 10 * time.Second

func (n *noted) met(t grid.Table) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.seen[t]
	return ok && time.Since(at) < metFor
}

func (n *noted) meet(t grid.Table) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[grid.Table]time.Time{}
	}
	n.seen[t] = time.Now()
}

func (n *noted) forget(t grid.Table) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.at, t)
	delete(n.seen, t)
	delete(n.made, t)
}

// use makes sure that a table's record says that something may be in it, before
// something is: tables that nobody has used are left out of queries.
func (s *Store) use(ctx context.Context, t grid.Table) error {
	if s.noted.has(t) {
		return nil
	}
	r, err := s.recordOf(ctx, t)
	switch {
	case err != nil:
		return err
	case r == nil || r.Phase != usable:
		return fmt.Errorf("%s: %w", t, store.ErrNoTable)
	case !r.Used || !r.Listed:
		if err := s.announce(ctx, t, r); err != nil {
			return err
		}
	}
	if s.noted.add(t, r.Created) {
		s.laid.forget(t)
	}
	return nil
}

// announce makes lists of tables everywhere include one that nobody has used.
// Whoever finds it used and not listed goes on where another process died.
func (s *Store) announce(ctx context.Context, t grid.Table, r *record) error {
	if !r.Used {
		if err := s.alter(ctx, t, func(r *record) error { r.Used = true; return nil }); err != nil {
			return err
		}
	}
	if err := s.changeVersion(ctx); err != nil {
		return err
	}
	return s.alter(ctx, t, func(r *record) error { r.Listed = true; return nil })
}

// VersionKey implements store.Versioned.
func (s *Store) VersionKey() store.Key { return store.Key{PK: "CATALOG", SK: tablesPK} }

// changeVersion changes the catalog's version to one that there never was.
func (s *Store) changeVersion(ctx context.Context) error {
	return s.put(ctx, store.Item{Key: s.VersionKey(), Attrs: map[string]varve.Value{
		store.VersionAttr: varve.StringValue(rand.Text()),
	}})
}

// useAll prepares the tables of groups for being written to, and returns the
// errors of those that cannot be.
func (s *Store) useAll(ctx context.Context, groups []group) map[grid.Table]error {
	failed := map[grid.Table]error{}
	for i := range groups {
		t := groups[i].table
		if _, tried := failed[t]; !tried {
			failed[t] = s.use(ctx, t)
		}
	}
	return failed
}
