package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// Archive configures the archive of tables.
type Archive struct {
	Objects objectstore.Store // if nil, tables are not archived
	Prefix  string            // prefix of the keys of all objects
	Rate    float64           // maximum number of readings per second that are read from tables, or from archives to be merged; 0 means no limit
	// Retention is the time after which the archives of dropped tables are deleted. 0 means never.
	Retention time.Duration
	// Merge, if true, merges the archives of dropped tables.
	Merge bool
	// ExactCounts means that the catalog of the store counts readings exactly.
	ExactCounts bool
	// Archived is called after each attempt to archive a table. If nil, it is skipped.
	Archived func(t grid.Table, r archive.Record, took time.Duration, err error)
	// Merged is called after each run that merged archives or failed to. If nil, it is skipped.
	Merged func(done []archive.Merged, took time.Duration, err error)
	// Expired is called after each run that deleted archives or failed to. If nil, it is skipped.
	Expired func(deleted []archive.Record, err error)
}

const (
	// archiveLeaseTTL is how long the lease of the archive lasts after it was last extended.
	archiveLeaseTTL = 5 * time.Minute
	// checkArchiveLease is the interval between two checks of the lease.
	checkArchiveLease = time.Minute
)

// archives is the state of the background job that archives tables.
type archives struct {
	opts    Archive
	running sync.Mutex
	kept    bool // the store's database deletes no expired readings; guarded by running
	lease   lease.Manager

	mu      sync.Mutex
	suspect map[grid.Table]bool // tables whose archives the next run must check: see recheck
	stats   ArchiveStats
}

// ArchiveStats counts the work of the archive in this process.
type ArchiveStats struct {
	Archived int64         // number of archived tables
	Failed   int64         // number of failed attempts to archive a table
	Refused  int64         // number of drops that a missing or failed archive prevented
	Merged   int64         // number of tables whose archives were merged
	Readings int64         // number of readings in the archived tables
	Bytes    int64         // size of the files of these archives
	Took     time.Duration // duration of all attempts
	Last     time.Time     // when a table was last archived
}

// ArchiveStats returns the work of the archive in this process.
func (e *Engine) ArchiveStats() ArchiveStats {
	e.archives.mu.Lock()
	defer e.archives.mu.Unlock()
	return e.archives.stats
}

func (a *archives) record(now time.Time, t grid.Table, r archive.Record, took time.Duration, err error) {
	a.mu.Lock()
	s := &a.stats
	s.Took += took
	if err != nil {
		s.Failed++
	} else {
		s.Archived, s.Readings, s.Bytes, s.Last = s.Archived+1, s.Readings+r.Readings, s.Bytes+r.Bytes, now
	}
	a.mu.Unlock()
	a.opts.Archived(t, r, took, err)
}

// refuse counts a refused drop, and makes the next run check the objects of the archive.
func (a *archives) refuse(t grid.Table) {
	a.recheck(t)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stats.Refused++
}

// recheck makes the next run check the objects of a table's archive.
func (a *archives) recheck(t grid.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.suspect == nil {
		a.suspect = map[grid.Table]bool{}
	}
	a.suspect[t] = true
}

// takeSuspects returns the tables to recheck, and forgets them.
func (a *archives) takeSuspects() map[grid.Table]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	suspects := a.suspect
	a.suspect = nil
	return suspects
}

func (e *Engine) wireArchive(o Options) {
	e.archives.opts = o.Archive
	if o.Archive.Objects == nil {
		return
	}
	if e.archives.opts.Archived == nil {
		e.archives.opts.Archived = func(grid.Table, archive.Record, time.Duration, error) {}
	}
	if e.archives.opts.Merged == nil {
		e.archives.opts.Merged = func([]archive.Merged, time.Duration, error) {}
	}
	if e.archives.opts.Expired == nil {
		e.archives.opts.Expired = func([]archive.Record, error) {}
	}
	items := reserveOf(o.Store)
	e.archives.lease = lease.Manager{Items: items, Now: o.Now, Holder: o.Holder, TTL: archiveLeaseTTL}
	policy := o.Rotation.Retention
	e.Archiver = archive.New(archive.Options{
		Store: o.Store, Items: items, Objects: o.Archive.Objects, Prefix: o.Archive.Prefix, Now: o.Now, Rate: o.Archive.Rate,
		Pace:        func() *lanes.Pace { return e.Router.Pace() },
		ExactCounts: o.Archive.ExactCounts,
		ClassOf: func(t grid.Table) string {
			class, _ := policy.ClassOfPrefix(t.Prefix)
			return cmp.Or(class.Name, retention.DefaultClass)
		},
	})
	e.Archives = archive.NewReader(e.Archiver)
}

// archived returns the function rotator.Options.Archived, or nil without an archive.
func (e *Engine) archived() func(context.Context) (func(grid.Table) string, error) {
	if e.Archiver == nil {
		return nil
	}
	return func(ctx context.Context) (func(grid.Table) string, error) {
		records, err := e.Archiver.Catalog().List(ctx)
		if err != nil {
			return nil, err
		}
		done := map[grid.Table]bool{}
		for i := range records {
			done[records[i].Table] = records[i].State == archive.Archived
		}
		return func(t grid.Table) string {
			if !done[t] {
				return "not archived yet"
			}
			return ""
		}, nil
	}
}

// checkArchive returns the function rotator.Options.CheckArchive, or nil without an archive.
func (e *Engine) checkArchive() func(context.Context, *store.Info) error {
	if e.Archiver == nil {
		return nil
	}
	return func(ctx context.Context, in *store.Info) error {
		r, _, err := e.Archiver.Catalog().Get(ctx, in.Table)
		if err != nil {
			return err
		}
		return e.Archiver.Check(ctx, &r, in)
	}
}

// archiveTables archives the tables whose readings have all expired, one after the other. It merges the
// archives of dropped tables, and deletes archives after their retention. Only one process does so at a
// time. The next run continues an interrupted run.
func (e *Engine) archiveTables() {
	if e.Archiver == nil || !e.archives.running.TryLock() {
		return
	}
	defer e.archives.running.Unlock()
	unsafe := e.keepExpired()
	err := e.withArchiveLease(e.background, func(ctx context.Context) error {
		infos, err := e.Rotator.Tables(ctx)
		if err != nil {
			return err
		}
		return errors.Join(e.archiveDue(ctx, infos), e.mergeArchives(ctx, infos), e.expireArchives(ctx))
	})
	switch {
	case e.background.Err() != nil:
	case unsafe != nil:
		e.Conditions.Set(health.ArchiveFailing, unsafe.Error())
	case errors.Is(err, lease.ErrHeld):
	case err != nil:
		e.Conditions.Set(health.ArchiveFailing, err.Error())
	default:
		e.Conditions.Clear(health.ArchiveFailing)
	}
}

// keepExpired stops the store's database from deleting expired readings on its own, if only
// archived tables are dropped. It does so once per process.
func (e *Engine) keepExpired() error {
	keeper, ok := e.Store.(store.ExpiredKeeper)
	if !ok || e.archives.kept || !e.Rotator.Policy().ArchiveFirst {
		return nil
	}
	err := keeper.KeepExpired(e.background)
	e.archives.kept = err == nil
	return err
}

// withArchiveLease calls a function while this process holds the lease. The context ends if the lease
// is lost.
func (e *Engine) withArchiveLease(ctx context.Context, do func(context.Context) error) (err error) {
	l, err := e.archives.lease.Acquire(ctx, "archive")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		ticker := time.NewTicker(checkArchiveLease)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if err := l.Check(ctx); err != nil {
					cancel(err)
					return
				}
			}
		}
	})
	return do(ctx)
}

// aloneWithArchives returns a function for erasures.Options.AloneWithArchives. That function calls its
// argument "do" while no process writes, merges or deletes archives. It fails immediately if a job of
// this or another process already does so.
func aloneWithArchives(e *Engine) func(context.Context, func(context.Context) error) error {
	busy := varve.Errorf(varve.Unavailable, "another job writes or deletes archives: retry later")
	return func(ctx context.Context, do func(context.Context) error) error {
		if !e.archives.running.TryLock() {
			return busy
		}
		defer e.archives.running.Unlock()
		err := e.withArchiveLease(ctx, do)
		if errors.Is(err, lease.ErrHeld) {
			return busy
		}
		return err
	}
}

// archiveDue archives the tables that are due, in the order of their retirement. If a table cannot
// be archived, the others are archived nevertheless.
func (e *Engine) archiveDue(ctx context.Context, infos []store.Info) error {
	suspects := e.archives.takeSuspects()
	records, err := e.Archiver.Catalog().List(ctx)
	if err != nil {
		return err
	}
	known := map[grid.Table]*archive.Record{}
	for i := range records {
		known[records[i].Table] = &records[i]
	}
	policy, now := e.Rotator.Policy(), e.Now()
	infos = slices.Clone(infos)
	slices.SortStableFunc(infos, func(a, b store.Info) int { return a.Retired.Compare(b.Retired) })
	var errs []error
	for i := range infos {
		in := &infos[i]
		if in.Hold == archive.RestoredHold {
			continue // a restore fills the table, so it may not have all readings of its archive yet
		}
		if !policy.ArchiveDue(in, now) || !suspects[in.Table] && e.upToDate(known[in.Table], in) {
			continue
		}
		begin := time.Now()
		r, err := e.Archiver.Archive(ctx, in)
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		e.archives.record(now, in.Table, r, time.Since(begin), err)
		if err != nil {
			e.archives.recheck(in.Table)
			errs = append(errs, err)
		}
	}
	return joinFew(errs)
}

// upToDate reports whether the record of an archive shows that a table need not be read.
func (e *Engine) upToDate(r *archive.Record, in *store.Info) bool {
	return r != nil && r.State == archive.Archived && len(r.Attempts) == 0 && !r.At.After(e.Now()) && (in.Retired.IsZero() || !r.At.Before(in.Retired)) &&
		(!e.archives.opts.ExactCounts || r.Matches(in.Readings))
}

// joinFew joins the first three errors, and counts the others.
func joinFew(errs []error) error {
	const most = 3
	if n := len(errs) - most; n > 0 {
		errs = append(errs[:most:most], fmt.Errorf("and %d more tables", n))
	}
	return errors.Join(errs...)
}

// expireArchives deletes the archives of dropped tables after their retention, and unfinished ones at once. It
// lists the tables once more, because one may have been restored while others were archived.
func (e *Engine) expireArchives(ctx context.Context) error {
	infos, err := e.Rotator.Tables(ctx)
	if err != nil {
		return err
	}
	existing := map[grid.Table]bool{}
	for i := range infos {
		existing[infos[i].Table] = true
	}
	exists := func(t grid.Table) bool { return existing[t] }
	unfinished := archive.DiscardUnfinished(ctx, e.Archiver, exists)
	keep := e.archives.opts.Retention
	if keep <= 0 || keep == retention.Forever {
		return unfinished
	}
	deleted, err := e.Archiver.Expire(ctx, keep, exists)
	if len(deleted) > 0 || err != nil {
		e.archives.opts.Expired(deleted, err)
	}
	return errors.Join(unfinished, err)
}
