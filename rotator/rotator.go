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

// leaseTTL is how long a run's lease lasts without a step.
const leaseTTL = 5 * time.Minute

// Options are what a rotator works with. All but Events are required.
type Options struct {
	Catalog   store.Catalog
	Creator   store.Creator
	Lifecycle store.Lifecycle
	Items     store.Items
	Policy    Policy
	Now       func() time.Time
	Holder    string // names this process in the lease, uniquely
	// Parallel is how many tables a run makes at a time, which suits a store
	// that takes its time over each. 0 is 1.
	Parallel int
	// Needed, if not nil, returns what says of a retired table why it is needed
	// and must not be dropped; "" if it is not. It is asked when tables are to be
	// dropped.
	TablesInUse func(context.Context) (func(t grid.Table, retired time.Time) string, error)
	Events      Events
}

// Events are called as things happen, from the goroutine of the run. Nil ones
// are skipped.
type Events struct {
	// Applied: an action was carried out, or failed.
	Applied func(a Action, took time.Duration, err error)
	// Finished: a run ended.
	Finished func(p *Plan, took time.Duration, err error)
}

// Rotator plans and carries out rotations. It is safe for concurrent use; in
// the whole fleet, one run goes on at a time.
type Rotator struct {
	opts  Options
	lease lease.Manager

	running sync.Mutex // one run at a time in this process
	mu      sync.Mutex
	health  Health
}

// Health is how rotation is doing.
type Health struct {
	LastSuccess   time.Time // of a run in this process; zero: none yet
	LastRun       time.Time // of a run in this process that got as far as a plan
	LastError     string    // of the last run, if it failed
	Usable        bool      // this month's tables were all there when it was looked last, or before
	Ready, Needed int       // tables of the next month: there are, there should be
	Tables        int       // there are in all
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
	return &Rotator{opts: o, lease: lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: leaseTTL}}
}

// Policy returns the policy in force.
func (r *Rotator) Policy() Policy { return r.opts.Policy }

// Health returns how rotation is doing.
func (r *Rotator) Health() Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.health
}

// Tables lists the tables of all classes with details, in the order of their
// names; and those of this deployment that belong to no class, because the
// configuration was another when they were made.
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

// Plan returns what a run would do at a time, of which the zero time is now, if
// the tables were then as they are now. If it cannot be told which tables are
// needed, there is a plan that drops none, and an error.
func (r *Rotator) Plan(ctx context.Context, at time.Time) (Plan, error) {
	infos, err := r.Tables(ctx)
	if err != nil {
		return Plan{}, err
	}
	if !at.IsZero() {
		return r.opts.Policy.Plan(at, infos), nil
	}
	p := r.opts.Policy.Plan(r.opts.Now(), infos)
	return p, r.keepNeeded(ctx, &p)
}

// Run plans and applies. It fails with lease.ErrHeld if another run goes on; if
// that is another process's, it has looked at the tables all the same.
// The plan that it returns is the one that it carried out, also if some of it
// failed; what was put on hold meanwhile is among the kept.
func (r *Rotator) Run(ctx context.Context) (p Plan, err error) {
	begin := time.Now()
	var d done
	defer func() {
		r.note(&p, d, err)
		r.opts.Events.Finished(&p, time.Since(begin), err)
	}()
	if !r.running.TryLock() {
		return p, fmt.Errorf("a rotation is under way already: try again when it has ended (%w)", lease.ErrHeld)
	}
	defer r.running.Unlock()
	l, err := r.lease.Acquire(ctx, "rotator")
	if errors.Is(err, lease.ErrHeld) {
		return p, errors.Join(fmt.Errorf("another process rotates now, or was killed while it did: try again later (%w)", err), r.look(ctx))
	}
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	p, unsure := r.Plan(ctx, time.Time{})
	if p.Now.IsZero() { // there is none
		return p, unsure
	}
	d, err = r.apply(ctx, &p, l.Check)
	return p, errors.Join(unsure, err)
}

// done is how many tables a run made and dropped.
type done struct {
	created, ahead int // ahead: those of the next month
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

// note keeps what readiness and alarms are about: what there is after the run,
// also if some of it failed.
func (r *Rotator) note(p *Plan, d done, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.health
	if errors.Is(err, lease.ErrHeld) {
		return // somebody else sees to it
	}
	if !p.Now.IsZero() { // it got as far as a plan
		h.take(p, d)
		h.LastRun = r.opts.Now()
	}
	if err != nil {
		h.LastError = err.Error()
		return
	}
	h.LastSuccess, h.LastError = r.opts.Now(), ""
}

// take takes over what there is after a plan of which something was done.
func (h *Health) take(p *Plan, d done) {
	h.Ready, h.Needed, h.Tables = p.Ready+d.ahead, p.Needed, p.Tables+d.created-d.dropped
	h.Usable = h.Usable || p.Missing == d.created-d.ahead
}

// look notes which tables there are, while another process rotates.
func (r *Rotator) look(ctx context.Context) error {
	p, err := r.Plan(ctx, time.Time{})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.take(&p, done{})
	return nil
}

// apply carries out a plan, in its order, and returns what was done. Check is
// asked before each step.
func (r *Rotator) apply(ctx context.Context, p *Plan, check func(context.Context) error) (d done, err error) {
	var errs []error
	held := map[grid.Table]string{}
	defer func() { p.spare(held) }()
	for actions := p.Actions; len(actions) > 0; {
		if err := ctx.Err(); err != nil {
			return d, errors.Join(few(errs), context.Cause(ctx))
		}
		if err := check(ctx); err != nil {
			return d, errors.Join(few(errs), err)
		}
		n := r.atOnce(actions)
		for _, out := range r.doAll(ctx, actions[:n]) {
			if hold := (*store.HoldError)(nil); errors.As(out.err, &hold) {
				held[out.Table] = hold.Reason
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
	return d, few(errs)
}

// few joins the first of some steps' errors: what keeps one table from being made
// often keeps all of them. Events tell of each.
func few(errs []error) error {
	const most = 3
	if n := len(errs) - most; n > 0 {
		errs = append(errs[:most:most], fmt.Errorf("and %d more steps failed", n))
	}
	return errors.Join(errs...)
}

// atOnce returns how many of the next actions are carried out side by side:
// several only if they make tables.
func (r *Rotator) atOnce(actions []Action) int {
	n := 1
	for n < len(actions) && n < r.opts.Parallel && actions[0].Kind == Create && actions[n].Kind == Create {
		n++
	}
	return n
}

// outcome is what became of an action.
type outcome struct {
	Action
	took time.Duration
	err  error
}

func (r *Rotator) doAll(ctx context.Context, actions []Action) []outcome {
	outcomes := make([]outcome, len(actions))
	var wg sync.WaitGroup
	for i, a := range actions {
		wg.Go(func() {
			begin := time.Now()
			err := r.do(ctx, a)
			outcomes[i] = outcome{a, time.Since(begin), err}
		})
	}
	wg.Wait()
	return outcomes
}

func (r *Rotator) do(ctx context.Context, a Action) error {
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
		return r.opts.Lifecycle.Drop(ctx, a.Table)
	default:
		return fmt.Errorf("unknown action %d", a.Kind)
	}
}
