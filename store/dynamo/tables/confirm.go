package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/cache"
)

const (
	// confirmedFor is the lifetime of a confirmation. Another process may drop the table and
	// recreate it meanwhile.
	confirmedFor = 10 * time.Minute
	// existsFor is the time for which a table counts as existing, for writes that the cache of
	// closed rows answers.
	existsFor = 10 * time.Second
)

// Confirmed remembers the tables whose records mark them as used. Queries skip tables that
// are not, so a write confirms its tables first.
type Confirmed struct {
	records *Records
	admin   *admin.Admin
	tables  *cache.Cache[grid.Table, confirmation]
	exist   *cache.Cache[grid.Table, struct{}]
}

// confirmation is the creation time in a table's record, and the time at which the record was read.
type confirmation struct{ created, at time.Time }

func newConfirmed(r *Records, a *admin.Admin) *Confirmed {
	return &Confirmed{
		records: r, admin: a,
		tables: cache.New[grid.Table, confirmation](cache.Limits{}),
		exist:  cache.New[grid.Table, struct{}](cache.Limits{Age: existsFor}),
	}
}

// Confirm makes sure that the record of a table marks it as used. It reports whether the
// table was recreated since the last confirmation. It fails with ErrNoTable.
func (c *Confirmed) Confirm(ctx context.Context, t grid.Table) (recreated bool, err error) {
	last, known := c.tables.Get(t)
	if known && time.Since(last.at) < confirmedFor {
		return false, nil
	}
	r, err := c.records.read(ctx, t)
	switch {
	case err != nil:
		return false, err
	case !r.isUsable():
		return false, fmt.Errorf("%s: %w", t, store.ErrNoTable)
	case !r.Used || !r.Listed:
		if err := c.records.announce(ctx, t, r); err != nil {
			return false, err
		}
	}
	c.tables.Put(t, confirmation{r.Created, time.Now()})
	return known && !last.created.Equal(r.Created), nil
}

// announce adds a table that is about to be used to the lists of all processes. It completes the
// steps of a process that died halfway.
func (s *Records) announce(ctx context.Context, t grid.Table, r *record) error {
	if !r.Used {
		if err := s.update(ctx, t, func(r *record) error { r.Used = true; return nil }); err != nil {
			return err
		}
	}
	if err := s.changeVersion(ctx); err != nil {
		return err
	}
	return s.update(ctx, t, func(r *record) error { r.Listed = true; return nil })
}

// CheckExists fails with ErrNoTable if a table is missing. A success serves for a while.
func (c *Confirmed) CheckExists(ctx context.Context, t grid.Table) error {
	if _, ok := c.exist.Get(t); ok {
		return nil
	}
	if err := c.admin.Exists(ctx, t.Name()); err != nil {
		return err
	}
	c.exist.Put(t, struct{}{})
	return nil
}

// Drop removes a table that may be missing or recreated.
func (c *Confirmed) Drop(t grid.Table) {
	c.tables.Drop(t)
	c.exist.Drop(t)
}
