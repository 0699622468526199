package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

// look is one look at the neighbourhood of readings that came, by one rule: the
// runs that the stored readings make there are compared with those that are
// noted.
//
//	stored   ─ ─ ● ● ○ ●│● ○ ● ●│● ● ○ ─ ─      ● the condition holds  ○ it does not
//	                    lo      hi
//	back ◀── to the run's start      to its end ──▶ on
//
// What is noted is trusted outside of lo to hi, so that nobody reads a long run
// to its ends.
type look struct {
	f      *Fleet
	rule   *Rule
	series varve.Series

	some     bool           // readings came that count
	lo, hi   varve.Position // the first and last of them
	holds    bool           // the condition holds for all of them
	fails    bool           // for none
	firstOne bool           // for the first

	known  []run                   // noted: those at lo, from there to hi, and the next
	alive  map[varve.Position]bool // starts of known runs that were read
	beyond bool                    // there are readings behind hi
}

// came adds a reading that is stored.
func (l *look) came(r *varve.Reading) {
	holds, counts := l.rule.meets(r.Field(l.rule.Field))
	if !counts {
		return
	}
	p := r.Position()
	if !l.some {
		l.some, l.lo, l.hi, l.holds, l.fails, l.firstOne = true, p, p, true, true, holds
	}
	if p.Compare(l.lo) < 0 {
		l.lo, l.firstOne = p, holds
	}
	if p.Compare(l.hi) > 0 {
		l.hi = p
	}
	l.holds, l.fails = l.holds && holds, l.fails && !holds
}

// lookTries is how often a look is repeated because others change the same
// runs, or have stored what they have not looked at.
const lookTries = 100

// settle makes what is noted what the stored readings say.
func (l *look) settle(ctx context.Context) error {
	if !l.some {
		return nil
	}
	for try := 0; try < lookTries; try++ {
		if err := l.recall(ctx); err != nil {
			return err
		}
		if try == 0 && l.usual() {
			return nil
		}
		hi := l.hi
		runs, err := l.scan(ctx)
		if err != nil {
			return fmt.Errorf("read the readings around %s: %w", time.Unix(0, l.lo.Time).UTC().Format(time.RFC3339Nano), err)
		}
		if l.hi != hi {
			continue // there is more to look at
		}
		// Having changed something, it looks again: another process may have
		// stored a reading here since this one read them.
		if changed, err := l.change(ctx, runs); err != nil || !changed {
			return err
		}
	}
	return fmt.Errorf("the runs of rule %s and %s change all the time", l.rule.ID, l.series)
}

// recall reads what is noted: the run that begins at lo or before, those that
// begin from there to hi, and the one after.
func (l *look) recall(ctx context.Context) error {
	l.alive, l.beyond = map[varve.Position]bool{}, false
	known, err := l.f.notes(ctx, l.rule, l.series, "", behind(l.lo), varve.Descending, 1)
	if err != nil {
		return err
	}
	l.known = known
	if l.lo != l.hi {
		inner, err := l.f.notes(ctx, l.rule, l.series, behind(l.lo), behind(l.hi), varve.Ascending, 0)
		if err != nil {
			return err
		}
		l.known = append(l.known, inner...)
	}
	return nil
}

// usual reports whether the readings change nothing for certain: they hold
// inside a run, or they do not hold outside of one, where they can only have
// made shorter what is too short already.
func (l *look) usual() bool {
	if slices.ContainsFunc(l.known, func(k run) bool { return !k.told || k.start.Compare(l.lo) > 0 }) {
		return false
	}
	in := l.covering(l.lo)
	if l.fails {
		return in == nil
	}
	return l.holds && in != nil && in.covers(l.hi) && in.opened.Compare(l.lo) <= 0
}

// covering returns the known run that a position lies in: the one that begins
// last, if a look that was cut off has left several.
func (l *look) covering(p varve.Position) *run {
	for i := range slices.Backward(l.known) {
		if l.known[i].covers(p) {
			return &l.known[i]
		}
	}
	return nil
}

// scan returns the runs that touch the readings, as the stored ones make them.
func (l *look) scan(ctx context.Context) ([]run, error) {
	next, err := l.f.notes(ctx, l.rule, l.series, behind(l.hi), "", varve.Ascending, 1)
	if err != nil {
		return nil, err
	}
	l.known = append(l.known, next...)
	s := scan{look: l}
	if at := l.covering(l.lo); at != nil {
		s.cur = &run{start: at.start, opened: at.opened, raised: at.raised}
	} else if l.firstOne {
		if err := l.back(ctx, &s); err != nil {
			return nil, err
		}
	}
	w := varve.Window{From: time.Unix(0, l.lo.Time), To: varve.AllTime().To}
	if err := l.f.opts.Source.Read(ctx, l.series, w, varve.Ascending, s.take); err != nil {
		return nil, err
	}
	s.close(nil)
	return s.runs, l.reach(ctx, s.runs)
}

// back finds where the run began that the first reading goes on with.
func (l *look) back(ctx context.Context, s *scan) error {
	w := varve.Window{From: varve.AllTime().From, To: time.Unix(0, l.lo.Time+1)}
	if len(l.known) > 0 && l.known[0].end != nil && l.known[0].start.Compare(l.lo) < 0 {
		w.From = time.Unix(0, l.known[0].end.Time)
	}
	var before []sample
	err := l.f.opts.Source.Read(ctx, l.series, w, varve.Descending, func(r *varve.Reading) bool {
		one, counts := l.sample(r)
		if !counts || one.at.Compare(l.lo) >= 0 {
			return true
		}
		if one.holds {
			before = append(before, one)
		}
		return one.holds
	})
	for _, one := range slices.Backward(before) {
		s.add(one)
	}
	return err
}

// sample is what a rule sees of a reading.
type sample struct {
	at    varve.Position
	holds bool
	raised
}

// lateFrom is how long after it happened a reading arrives that is late.
const lateFrom = time.Hour

func (l *look) sample(r *varve.Reading) (one sample, counts bool) {
	v := r.Field(l.rule.Field)
	one.at, one.value, one.late = r.Position(), v, r.Arrived.Sub(r.Time) >= lateFrom
	one.holds, counts = l.rule.meets(v)
	return one, counts
}

// scan goes through readings from lo on.
type scan struct {
	look *look
	cur  *run // the run that the last reading was in; nil: in none
	runs []run
}

// take takes the next reading, and reports whether more are of interest.
func (s *scan) take(r *varve.Reading) bool {
	one, counts := s.look.sample(r)
	if !counts || one.at.Compare(s.look.lo) < 0 {
		return true
	}
	s.look.alive[one.at] = true
	after := one.at.Compare(s.look.hi) > 0
	s.look.beyond = s.look.beyond || after
	known := s.look.covering(one.at)
	if !one.holds {
		s.close(&one.at)
		if after && known != nil {
			// It is stored, and nobody has looked at it yet: to end the run here
			// would be to forget what comes behind it.
			s.look.hi = one.at
		}
		return !after
	}
	if after && s.cur == nil && (known == nil || known.start == one.at) {
		return false // what goes on from here is as it was
	}
	s.add(one)
	if after && known != nil && s.opened() && s.cur.opened.Compare(one.at) <= 0 {
		s.close(known.end)
		return false
	}
	return true
}

// opened reports whether the run has held long enough.
func (s *scan) opened() bool { return s.cur.opened != varve.Position{} }

// add adds a reading for which the condition holds.
func (s *scan) add(one sample) {
	if s.cur == nil {
		s.cur = &run{start: one.at}
	}
	held := time.Duration(one.at.Time - s.cur.start.Time)
	if held >= s.look.rule.For && (!s.opened() || one.at.Compare(s.cur.opened) <= 0) {
		s.cur.opened, s.cur.raised = one.at, one.raised
	}
}

// close ends the run, if there is one, at a reading for which the condition
// does not hold. It counts if it has held long enough.
func (s *scan) close(end *varve.Position) {
	if s.cur == nil {
		return
	}
	s.cur.end = end
	if s.opened() && (end == nil || s.cur.opened.Compare(*end) < 0) {
		s.runs = append(s.runs, *s.cur)
	}
	s.cur = nil
}
