package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
)

const (
	// batch limits the readings that Next collects. A page of a single table may be larger.
	batch = 1024
	// batchBytes is the approximate maximum size of a batch.
	batchBytes = 1 << 20
)

// Rows yields the readings of a query page by page. Only one goroutine may use it.
type Rows struct {
	e        *Engine
	q        Query
	plan     plan
	opened   int // number of opened tables of the plan
	ahead    int // number of tables to open at once next time
	sources  []*source
	ended    []*buffer // buffers of finished sources; out may still refer to them
	out      []varve.Reading
	left     int          // readings that may still be returned; -1 means no limit
	size     int          // of out
	large    bool         // the answer holds one of the engine's shares for full pages
	columns  bool         // the caller uses NextPart
	parts    []block.Part // the result of NextPart
	release  []func()     // of parts that were returned
	forms    block.Forms
	last     varve.Position
	some     bool
	more     bool
	coverage Coverage
	expired  int // expired readings that were left out
	cost     store.Cost
	damage   damage
	err      error    // the error that ended the answer
	matched  int      // readings that Where selected
	scanned  int      // readings that were compared with Where
	unseen   []string // fields of Where that no scanned reading had
}

// source is a table that is being read.
type source struct {
	planned
	page        []varve.Reading
	buf         *buffer
	size        int            // size of the page when it was read
	last        varve.Position // last position that was read, if begun
	more, begun bool
	parts       []block.Part // before page; set only while no other table is open
	release     func()       // of parts; may be nil
}

// Open plans a query. Nothing is read before Next. The caller must call Close.
func (e *Engine) Open(ctx context.Context, q Query) (*Rows, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	k, err := e.look(ctx, q.Series.Tenant, q.Series.Stream, q.Consistent)
	if err != nil {
		return nil, err
	}
	p, err := e.plan(ctx, &q, &k)
	if err != nil {
		return nil, err
	}
	p.inOrder(q.Order)
	r := &Rows{e: e, q: q, plan: p, left: q.Limit, ahead: 1}
	if q.Limit == 0 {
		r.left, r.ahead = -1, e.opts.Parallel
	}
	if len(q.Where) > 0 {
		r.left = -1 // the limit counts matching readings only: see match
		r.unseen = q.Where.Fields()
	}
	r.coverage.Expired, r.coverage.Listed = p.expired, p.listed
	return r, nil
}

// Next returns the next readings, or none at the end. They are valid until the next call. An
// error is permanent, because later readings would follow a gap.
func (r *Rows) Next(ctx context.Context) ([]varve.Reading, error) {
	for {
		readings, scanned, err := r.nextMatching(ctx)
		if err != nil || len(readings) > 0 || scanned == 0 {
			return readings, err
		}
	}
}

// next returns the next readings, with all their fields.
func (r *Rows) next(ctx context.Context) ([]varve.Reading, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.out, r.size = r.out[:0], 0
	r.giveBack()
	if !r.holds() {
		r.shrink() // gives other answers a chance
	}
	for r.room() && !r.more {
		if len(r.out) > 0 && r.dry() {
			break // the next read would overwrite the memory of out
		}
		whole, err := r.step(ctx)
		if err != nil {
			r.err = err
			return nil, err
		}
		if len(whole) > 0 {
			return r.emit(whole), nil
		}
		if !r.some || r.hasColumns() {
			break
		}
	}
	return r.emit(r.out), nil
}

// dry reports whether a source must read its next page.
func (r *Rows) dry() bool {
	return slices.ContainsFunc(r.sources, func(s *source) bool { return s.isEmpty() && s.more })
}

// emit records the position of readings.
func (r *Rows) emit(readings []varve.Reading) []varve.Reading {
	if len(readings) == 0 {
		return nil
	}
	r.last = readings[len(readings)-1].Position()
	return readings
}

// step appends the next reading to out, unless it has expired.
//
// If many readings of one table come next, it returns their live ones without copying. If columns
// come next, it moves them to r.parts. It clears r.some at the end of the answer, and sets r.more at
// the limit.
func (r *Rows) step(ctx context.Context) (whole []varve.Reading, err error) {
	first, err := r.first(ctx)
	if err != nil {
		return nil, err
	}
	r.some = first != nil
	if !r.some {
		return nil, nil
	}
	if r.left == 0 {
		if len(first.parts) > 0 {
			first.convertParts()
		}
		// This reading is beyond the limit. If it is live, more readings follow.
		if pick, _ := r.take(first); pick != nil {
			r.more, r.some = true, false
		}
		return nil, nil
	}
	if len(first.parts) > 0 {
		if len(r.out) == 0 {
			r.emitParts(first)
		}
		return nil, nil
	}
	if len(r.out) == 0 {
		if n := r.leading(first); n >= minRun || n == len(first.page) {
			return r.liveRun(first, n), nil
		}
	}
	if pick, conflict := r.take(first); pick != nil {
		if conflict {
			r.coverage.Conflicts++
		}
		r.out = append(r.out, *pick)
		r.size += sizeOf(pick)
		r.count(1)
	}
	return nil, nil
}

func (r *Rows) count(n int) {
	if r.left > 0 {
		r.left -= n
	}
}

// take removes the current reading of a source from all sources. It returns the live copy with
// the first arrival, or nil if none is live. A conflict is a live copy with other values.
func (r *Rows) take(first *source) (pick *varve.Reading, conflict bool) {
	at := first.page[0].Position()
	for _, s := range r.sources {
		if len(s.page) == 0 || s.page[0].Position() != at {
			continue
		}
		if c := &s.page[0]; c.Alive(s.cutoff) {
			conflict = conflict || pick != nil && !c.SameFields(pick)
			if pick == nil || c.Arrived.Before(pick.Arrived) {
				pick = c
			}
		}
		s.page = s.page[1:]
	}
	if pick == nil {
		r.expired++
	}
	return pick, conflict
}

// first returns the source with the next reading, or nil at the end. It opens all tables that
// may hold an earlier reading.
func (r *Rows) first(ctx context.Context) (*source, error) {
	for {
		if err := r.refill(ctx); err != nil {
			return nil, err
		}
		var first *source
		for _, s := range r.sources {
			if len(s.parts) > 0 {
				return s, nil // the only open table; see separate
			}
			if len(s.page) > 0 && (first == nil || r.before(&s.page[0], &first.page[0])) {
				first = s
			}
		}
		if r.opened == len(r.plan.tables) {
			return first, nil
		}
		if first != nil && !r.reaches(&r.plan.tables[r.opened], first.page[0].Position()) {
			return first, nil
		}
		r.open(first)
	}
}

func (r *Rows) before(a, b *varve.Reading) bool {
	c := a.Position().Compare(b.Position())
	if r.q.Order == varve.Descending {
		return c > 0
	}
	return c < 0
}

// reaches reports whether a table can hold a reading at or before a position, in the order of
// the query.
func (r *Rows) reaches(t *planned, p varve.Position) bool {
	sec := p.Time / int64(time.Second)
	if r.q.Order == varve.Descending {
		return sec < t.End
	}
	return t.Start <= sec
}

// open opens the next tables. These are all tables that can hold a reading before the next one.
// Without a next reading, ahead limits their number. A query with a limit starts with a single
// table, because one may suffice.
func (r *Rows) open(first *source) {
	from := r.opened
	for r.opened < len(r.plan.tables) {
		t := &r.plan.tables[r.opened]
		need := first != nil && r.reaches(t, first.page[0].Position())
		if !need && r.opened-from >= r.ahead {
			break
		}
		if first != nil && !need {
			break
		}
		r.sources = append(r.sources, &source{planned: *t, more: true, buf: buffers.Get().(*buffer)})
		r.opened++
	}
	r.ahead = min(2*r.ahead, r.e.opts.Parallel)
}

// refill reads the next page of every exhausted source, and removes finished sources.
func (r *Rows) refill(ctx context.Context) error {
	var empty []*source
	for _, s := range r.sources {
		if s.isEmpty() && s.more {
			empty = append(empty, s)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	r.enlarge()
	if err := r.readAll(ctx, empty); err != nil {
		return err
	}
	r.separate()
	r.sources = slices.DeleteFunc(r.sources, func(s *source) bool {
		ended := s.isEmpty() && !s.more
		if ended && s.buf != nil {
			r.ended = append(r.ended, s.buf)
		}
		return ended
	})
	return nil
}

func (r *Rows) readAll(ctx context.Context, sources []*source) error {
	if len(sources) == 1 {
		return r.read(ctx, sources[0])
	}
	costs := make([]store.Cost, len(sources))
	errs := make([]error, len(sources))
	g := errgroup.Group{}
	g.SetLimit(r.e.opts.Parallel)
	for i, s := range sources {
		g.Go(func() error {
			costs[i], errs[i] = r.page(ctx, s)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, s := range sources {
		errs[i] = r.note(s, costs[i], errs[i])
	}
	return errors.Join(errs...)
}

func (r *Rows) read(ctx context.Context, s *source) error {
	cost, err := r.page(ctx, s)
	return r.note(s, cost, err)
}

// note records the result of a read in the coverage.
func (r *Rows) note(s *source, cost store.Cost, err error) error {
	r.cost.Add(cost)
	name := s.Name()
	switch {
	case err == nil:
		if !slices.Contains(r.coverage.Read, name) {
			r.coverage.Read = append(r.coverage.Read, name)
		}
		return nil
	case errors.Is(err, store.ErrNoTable):
		r.coverage.Missing = append(r.coverage.Missing, name)
		return nil
	default:
		r.coverage.Failed = append(r.coverage.Failed, name)
		return fmt.Errorf("read %s: %w", name, err)
	}
}

// More returns the last position, and whether the limit or the scan limit ended the answer. It is
// valid after Next returned no readings.
func (r *Rows) More() (varve.Position, bool) { return r.last, r.more }

// Coverage returns the coverage of the answer so far.
func (r *Rows) Coverage() Coverage {
	c := r.coverage
	c.Missing = slices.Concat(r.plan.lost, c.Missing)
	c.Expiry = r.plan.expiry.reported(r.expired, r.last != (varve.Position{}))
	r.damage.addTo(&c)
	return c
}

// Cost returns the cost of all reads so far.
func (r *Rows) Cost() store.Cost { return r.cost }
