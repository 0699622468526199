package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

// trustFrom is how many readings of a run are read on either side before what
// is noted of the rest is trusted.
const trustFrom = 1000

// scan goes through stored readings and finds their runs.
type scan struct {
	look *look
	cur  *run // the run that the last reading was in; nil: in none
	runs []run
	far  int // readings that were read behind hi
}

// scan returns the runs that touch the readings that came, as the stored ones
// make them.
func (l *look) scan(ctx context.Context) ([]run, error) {
	s := scan{look: l}
	if l.firstOne || l.covered(l.lo) {
		if err := s.back(ctx); err != nil {
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

// back finds where the run began that the first reading goes on with, or ends.
func (s *scan) back(ctx context.Context) error {
	l := s.look
	in := l.upTo(l.lo)
	var before []sample
	var end *varve.Position // a reading for which the condition does not hold
	trusted := false
	w := varve.Window{From: varve.AllTime().From, To: time.Unix(0, l.lo.Time+1)}
	err := l.f.opts.Source.Read(ctx, l.series, w, varve.Descending, func(r *varve.Reading) bool {
		one, counts := l.sample(r)
		if !counts || one.at.Compare(l.lo) >= 0 {
			return true
		}
		l.alive[one.at] = true
		if !one.holds && in != nil && in.covers(one.at) {
			// Nobody has looked at it yet: what the run is, is found from there on.
			l.lo, l.firstOne, before = one.at, false, nil
			return true
		}
		if !one.holds {
			end = &one.at
			return false
		}
		before = append(before, one)
		trusted = in != nil && in.told && len(before) >= trustFrom && in.opened.Compare(one.at) < 0
		return !trusted
	})
	// Where the first readings of a noted run have expired, it begins all the
	// same where it did.
	gone := in != nil && !l.alive[in.start] && (end == nil || end.Compare(in.start) < 0)
	if in != nil && in.start != l.lo && (trusted || gone) {
		s.cur = &run{start: in.start, opened: in.opened, raised: in.raised}
	}
	for _, one := range slices.Backward(before) {
		s.add(one)
	}
	return err
}

// upTo returns the known run that goes on to a position, whether it ends there
// or not.
func (l *look) upTo(p varve.Position) *run {
	for i := range slices.Backward(l.known) {
		if k := &l.known[i]; k.start.Compare(p) <= 0 && (k.end == nil || k.end.Compare(p) >= 0) {
			return k
		}
	}
	return nil
}

// take takes the next reading, and reports whether more are of interest.
func (s *scan) take(r *varve.Reading) bool {
	l := s.look
	one, counts := l.sample(r)
	if !counts || one.at.Compare(l.lo) < 0 {
		return true
	}
	l.alive[one.at] = true
	after := one.at.Compare(l.hi) > 0
	if after {
		l.beyond = true
		s.far++
	}
	if !one.holds {
		s.close(&one.at)
		// One inside of a run is stored, and nobody has looked at it yet.
		return !after || l.covered(one.at)
	}
	if after && s.cur == nil && !l.covered(one.at) {
		return false // what goes on from here is as it was
	}
	s.add(one)
	if in := l.covering(one.at); s.far >= trustFrom && in != nil && in.told && s.opened() && s.cur.opened.Compare(one.at) < 0 {
		s.close(in.end)
		return false
	}
	return true
}

// opened reports whether the run has held long enough.
func (s *scan) opened() bool { return s.cur.opened != varve.Position{} }

// add adds a reading for which the condition holds.
func (s *scan) add(one sample) {
	if s.cur == nil {
		s.cur = &run{start: one.at, seen: true}
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
