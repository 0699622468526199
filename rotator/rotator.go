package rotator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

// leaseTTL is the duration of a run's lease from each extension on.
const leaseTTL = 5 * time.Minute

// Options configure a rotator. All fields are required except Parallel, TablesInUse, Expirer,
// ReadingsInUse, ExpireGrace, Archived, CheckArchive and Events.
type Options struct {
	Catalog   store.Catalog
	Creator   store.Creator
	Lifecycle store.Lifecycle
	Items     store.Items
	Policy    Policy
	Now       func() time.Time
	Holder    string // name of this process in the lease
	// Parallel is the number of tables that a run creates at the same time. It speeds up stores
	// in which each creation is slow. 0 means 1.
	Parallel int
	// TablesInUse, if not nil, is called before tables are dropped. The function that it returns
	// reports why a retired table must not be dropped, or "" if it may be dropped.
	TablesInUse func(context.Context) (func(t grid.Table, retired time.Time) string, error)
	// Expirer, if not nil, deletes expired readings about once a day if the policy allows drops.
	Expirer store.Expirer
	// ReadingsInUse, if not nil, is called before the Expirer. The function that it returns reports
	// which readings of a table must not be deleted yet.
	ReadingsInUse func(context.Context) (func(grid.Table) func(event time.Time) bool, error)
	// ExpireGrace is used if Expirer is nil. It is the shortest time between the expiry of a
	// reading and its deletion by the store's database.
	ExpireGrace time.Duration
	// Archived returns a function that reports why a table has no verified archive, or "" if it has
	// one. CheckArchive compares the files of an archive with its record, immediately before the table
	// is dropped. With Policy.ArchiveFirst, a table is dropped only if both are set and permit it.
	Archived     func(context.Context) (func(grid.Table) string, error)
	CheckArchive func(context.Context, *store.Info) error
	Events       Events
}

// Events are callbacks. They are called one after the other, from the goroutine of the run. A nil
// callback is skipped.
type Events struct {
	// Applied is called after an action has succeeded or failed. It is not called for tables on hold
	// and for refused drops.
	Applied func(a Action, took time.Duration, err error)
	// Finished is called after each run.
	Finished func(p *Plan, took time.Duration, err error)
	// Expired is called after expired readings of a table were deleted, or after their deletion
	// failed.
	Expired func(t grid.Table, readings int64, took time.Duration, err error)
	// Refused is called if a table was not dropped, because its archive is missing or failed its
	// check.
	Refused func(t grid.Table, err error)
}

// Rotator plans and applies rotations. It is safe for concurrent use. Only one process of the
// cluster rotates at a time.
type Rotator struct {
	opts  Options
	lease lease.Manager

	running sync.Mutex // locked during a run
	expired time.Time  // time of the last successful deletion of expired readings; guarded by running
	mu      sync.Mutex
	health  Health
	failed  map[grid.Table]bool // tables whose last drop by this process has failed; guarded by mu
}

// Health is the state of the rotation as this process knows it.
type Health struct {
	LastSuccess time.Time  // time of the last successful run in this process; zero if none has succeeded
	LastRun     time.Time  // time of the last run in this process that made a plan
	LastError   string     // error of the last run; empty if it succeeded; lease.ErrHeld and ErrOtherPlan do not count
	Usable      bool       // whether all tables of the current arrival month existed after some run; it stays true afterward
	Ahead       TableCount // tables of the months ahead
	Tables      int        // number of existing tables
}

// New returns a rotator.
func New(o Options) *Rotator {
	o.Policy = o.Policy.WithDefaults()
	if o.Events.Applied == nil {
		o.Events.Applied = func(Action, time.Duration, error) {}
	}
	if o.Events.Finished == nil {
		o.Events.Finished = func(*Plan, time.Duration, error) {}
	}
	if o.Events.Expired == nil {
		o.Events.Expired = func(grid.Table, int64, time.Duration, error) {}
	}
	if o.Events.Refused == nil {
		o.Events.Refused = func(grid.Table, error) {}
	}
	return &Rotator{opts: o, failed: map[grid.Table]bool{}, lease: lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: leaseTTL}}
}

// Policy returns the policy with its defaults.
func (r *Rotator) Policy() Policy { return r.opts.Policy }

// Health returns the state of rotation.
func (r *Rotator) Health() Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.health
}

// Tables returns the tables of all classes with details, ordered by name. It includes tables of
// this deployment whose class is no longer configured.
func (r *Rotator) Tables(ctx context.Context) ([]store.Info, error) {
	f := store.Filter{Window: varve.AllTime(), Any: true, Details: true, Fresh: true}
	for _, c := range r.opts.Policy.Retention.Classes {
		f.Prefixes = append(f.Prefixes, r.opts.Policy.Retention.TablePrefix(c.Name))
	}
	infos, err := r.opts.Catalog.Tables(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	return infos, nil
}

// Plan returns the actions that a run at the given time would take with the current tables. The
// zero time means now. If Plan cannot find out which tables are in use or archived, it returns a plan
// without drops, and an error. A plan for another time ignores whether tables are in use.
func (r *Rotator) Plan(ctx context.Context, at time.Time) (Plan, error) {
	infos, err := r.Tables(ctx)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	if at.IsZero() {
		p = r.opts.Policy.planAll(r.opts.Now(), infos)
		err = r.skipTablesInUse(ctx, &p)
	} else {
		p = r.opts.Policy.planAll(at, infos)
	}
	err = errors.Join(err, r.skipNotArchived(ctx, &p))
	r.mu.Lock()
	defer r.mu.Unlock()
	p.limitDrops(r.opts.Policy.MaxDrops, r.failed)
	return p, err
}

// Run makes a plan and applies it. It returns the applied plan, even if some actions failed. The
// plan lists tables that were put on hold during the run as skipped.
//
// Run fails with lease.ErrHeld if another run is in progress. If that run is in another process, Run
// still updates the health of this process from the existing tables.
func (r *Rotator) Run(ctx context.Context) (Plan, error) { return r.RunPlan(ctx, "") }

// RunPlan is like Run, but fails with ErrOtherPlan and changes nothing if the plan does not have the
// given digest. The digest "" accepts any plan.
func (r *Rotator) RunPlan(ctx context.Context, digest string) (p Plan, err error) {
	begin := time.Now()
	var d done
	defer func() {
		r.recordRun(&p, d, err)
		r.opts.Events.Finished(&p, time.Since(begin), err)
	}()
	if !r.running.TryLock() {
		return p, fmt.Errorf("a rotation is in progress: retry after it has ended (%w)", lease.ErrHeld)
	}
	defer r.running.Unlock()
	l, err := r.lease.Acquire(ctx, "rotator")
	if errors.Is(err, lease.ErrHeld) {
		return p, errors.Join(fmt.Errorf("another process rotates, or was killed during a rotation: retry later (%w)", err), r.observeTables(ctx))
	}
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	p, unsure := r.Plan(ctx, time.Time{})
	if p.Now.IsZero() { // no plan was made
		return p, unsure
	}
	if err := p.check(digest); err != nil {
		return p, err
	}
	d, err = r.apply(ctx, &p, l.Check)
	return p, errors.Join(unsure, err, r.completeDrops(ctx), r.deleteExpired(ctx, l.Check))
}

// completeDrops removes the remains of drops that were interrupted.
func (r *Rotator) completeDrops(ctx context.Context) error {
	c, ok := r.opts.Lifecycle.(store.DropCompleter)
	if !ok {
		return nil
	}
	if err := c.CompleteDrops(ctx); err != nil {
		return fmt.Errorf("complete interrupted drops: %w", err)
	}
	return nil
}

type done struct {
	created, ahead int // ahead counts only the created tables of later months
	dropped        int
}

func (d *done) count(p *Plan, a *Action) {
	switch a.Kind {
	case Drop:
		d.dropped++
	case Create:
		d.created++
		if a.Table.Month > grid.MonthOf(p.Now) {
			d.ahead++
		}
	default:
	}
}

// recordRun updates the health after a run, including a run with failed actions.
func (r *Rotator) recordRun(p *Plan, d done, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.health
	if errors.Is(err, lease.ErrHeld) {
		return // another run is in progress, and reports its own result
	}
	if !p.Now.IsZero() { // the run made a plan
		h.update(p, d)
		h.LastRun = r.opts.Now()
	}
	if errors.Is(err, ErrOtherPlan) {
		return // not a failure: nothing was tried
	}
	if err != nil {
		h.LastError = err.Error()
		return
	}
	h.LastSuccess, h.LastError = r.opts.Now(), ""
}

func (h *Health) update(p *Plan, d done) {
	h.Ahead, h.Tables = TableCount{Existing: p.Ahead.Existing + d.ahead, Wanted: p.Ahead.Wanted}, p.Tables+d.created-d.dropped
	h.Usable = h.Usable || p.Current.Missing() == d.created-d.ahead
}

// observeTables updates the health while another process rotates.
func (r *Rotator) observeTables(ctx context.Context) error {
	p, err := r.Plan(ctx, time.Time{})
	if err != nil {
		return err
	}
	r.recordTables(&p, done{})
	return nil
}

// recordTables updates the tables in the health, also during a run.
func (r *Rotator) recordTables(p *Plan, d done) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.update(p, d)
}

// apply applies the actions of a plan in order, and returns how many tables it created and
// dropped. It calls the function "check" before each group of actions.
func (r *Rotator) apply(ctx context.Context, p *Plan, check func(context.Context) error) (d done, err error) {
	var errs []error
	held, refused := map[grid.Table]string{}, map[grid.Table]string{}
	defer func() {
		r.recordTables(p, d)
		p.skipHeld(held)
		p.skipActions(refused)
	}()
	for actions := p.Actions; len(actions) > 0; {
		if err := ctx.Err(); err != nil {
			return d, errors.Join(joinFirst(errs), context.Cause(ctx))
		}
		if err := check(ctx); err != nil {
			return d, errors.Join(joinFirst(errs), err)
		}
		if actions[0].Kind != Create {
			r.recordTables(p, d) // drops may take long
		}
		n := r.parallelActions(actions)
		for _, out := range r.applyAll(ctx, actions[:n]) {
			r.recordDrop(&out)
			if hold := (*store.HoldError)(nil); errors.As(out.err, &hold) {
				held[out.Table] = hold.Reason
				continue
			}
			if bad := (*ArchiveError)(nil); errors.As(out.err, &bad) {
				refused[out.Table] = bad.Error()
				r.opts.Events.Refused(out.Table, bad)
				continue
			}
			if out.err != nil {
				out.err = fmt.Errorf("%s %s: %w", out.Kind, out.Table, out.err)
				errs = append(errs, out.err)
			} else {
				d.count(p, &out.Action)
			}
			r.opts.Events.Applied(out.Action, out.took, out.err)
		}
		actions = actions[n:]
	}
	return d, joinFirst(errs)
}

// recordDrop records whether a drop has failed, so that the next run tries other tables first.
func (r *Rotator) recordDrop(out *outcome) {
	if out.Kind != Drop {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, out.Table)
	if out.err != nil {
		r.failed[out.Table] = true
	}
}

// joinFirst joins the first errors of a run. The errors of a run often have the same cause, and
// events report all of them.
func joinFirst(errs []error) error {
	const most = 3
	if n := len(errs) - most; n > 0 {
		errs = append(errs[:most:most], fmt.Errorf("and %d more steps failed", n))
	}
	return errors.Join(errs...)
}

// parallelActions returns how many of the next actions are applied at the same time. Only
// creations are applied in parallel.
func (r *Rotator) parallelActions(actions []Action) int {
	n := 1
	for n < len(actions) && n < r.opts.Parallel && actions[0].Kind == Create && actions[n].Kind == Create {
		n++
	}
	return n
}

type outcome struct {
	Action
	took time.Duration
	err  error
}

func (r *Rotator) applyAll(ctx context.Context, actions []Action) []outcome {
	outcomes := make([]outcome, len(actions))
	var wg sync.WaitGroup
	for i, a := range actions {
		wg.Go(func() {
			begin := time.Now()
			err := r.applyAction(ctx, a)
			outcomes[i] = outcome{a, time.Since(begin), err}
		})
	}
	wg.Wait()
	return outcomes
}

func (r *Rotator) applyAction(ctx context.Context, a Action) error {
	switch a.Kind {
	case Create:
		return r.opts.Creator.Create(ctx, a.Table, a.Tier)
	case Tune:
		return r.opts.Lifecycle.Tune(ctx, a.Table, a.Tier)
	case Restore:
		return r.opts.Lifecycle.Restore(ctx, a.Table)
	case Retire:
		return r.opts.Lifecycle.Retire(ctx, a.Table, r.opts.Now())
	case Drop:
		if err := r.checkArchive(ctx, &a); err != nil {
			return err
		}
		return r.opts.Lifecycle.Drop(ctx, a.Table)
	default:
		return fmt.Errorf("unknown action %d", a.Kind)
	}
}
