package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/cache"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
)

const (
	// confirmedFor is how long a confirmation is valid. Another process may drop and recreate the
	// table.
	confirmedFor = 10 * time.Minute
	// existsFor is how long a table counts as existing, for writes that need only the cache of
	// closed rows.
	existsFor = 10 * time.Second
)

// Confirmed remembers the tables whose records mark them as used. Queries skip all other tables,
// so a write must first confirm its table.
type Confirmed struct {
	records *Records
	admin   *admin.Admin
	tables  *cache.Cache[grid.Table, confirmation]
	exist   *cache.Cache[grid.Table, struct{}]
}

// confirmation has the creation time in a table's record, and the time at which the record was
// read.
type confirmation struct{ created, at time.Time }

func newConfirmed(r *Records, a *admin.Admin) *Confirmed {
	return &Confirmed{
		records: r, admin: a,
		tables: cache.New[grid.Table, confirmation](cache.Limits{}),
		exist:  cache.New[grid.Table, struct{}](cache.Limits{Age: existsFor}),
	}
}

// Confirm makes sure that the record of a table marks it as used. It returns whether the table
// was recreated after the last confirmation. While that confirmation is valid, Confirm returns false
// without a request. It fails with ErrNoTable if the registry has no usable record of the table.
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

// announce makes all processes list a table that is about to be used. It also completes the work
// of a process that stopped halfway.
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

// CheckExists fails with ErrNoTable if a table is missing. After a success, the table counts as
// existing for existsFor, without a request.
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

// Drop removes the remembered facts about a table, because the table may be missing or recreated.
func (c *Confirmed) Drop(t grid.Table) {
	c.tables.Drop(t)
	c.exist.Drop(t)
}
