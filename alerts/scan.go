package alerts

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

// trustFrom is how many readings of an episode are read on either side before
// the record of the rest is trusted.
const trustFrom = 1000

// scan goes through stored readings and finds their episodes.
type scan struct {
	*evaluation
	cur  *run  // the episode that the last reading was in; nil if it was in none
	last int64 // time of the last reading of cur; 0 if none was read
	runs []run
	far  int // readings that were read behind hi
}

// scan returns the episodes that touch the readings that came, as the stored
// ones make them. A recorded episode that one of them takes the place of in part
// has to be known before: what is left of it is scanned, too.
func (e *evaluation) scan(ctx context.Context) ([]run, error) {
	for {
		runs, err := e.scanKnown(ctx)
		if err != nil {
			return nil, err
		}
		beyond, err := e.loadInside(ctx, runs)
		if err != nil || !beyond {
			return runs, err
		}
	}
}

// scanKnown is scan as far as the known episodes go.
func (e *evaluation) scanKnown(ctx context.Context) ([]run, error) {
	s := scan{evaluation: e}
	if e.firstOne || e.covered(e.lo) {
		if err := s.back(ctx); err != nil {
			return nil, err
		}
	}
	w := varve.Window{From: time.Unix(0, e.lo.Time), To: varve.AllTime().To}
	if err := e.m.opts.Source.Read(ctx, e.series, w, varve.Ascending, s.take); err != nil {
		return nil, err
	}
	s.close(nil, false)
	return s.runs, nil
}

// back finds where the episode began that the first reading goes on with, or
// ends.
func (s *scan) back(ctx context.Context) error {
	e := s.evaluation
	in := e.known.upTo(e.lo)
	next := e.lo              // the reading after the one that is read
	var before []sample       // of the episode, the last first
	var bound *varve.Position // a reading that is not of the episode
	trusted := false
	w := varve.Window{From: varve.AllTime().From, To: time.Unix(0, e.lo.Time+1)}
	err := e.m.opts.Source.Read(ctx, e.series, w, varve.Descending, func(r *varve.Reading) bool {
		one, counts := e.sample(r)
		if !counts || one.at.Compare(e.lo) >= 0 {
			return true
		}
		inside := in != nil && in.covers(one.at)
		if silent := s.gapBetween(one.at.Time, next.Time); silent || !one.holds {
			if !inside {
				at := one.at
				bound = &at
				return false
			}
			e.see(one.at)
			// The record does not have it yet: what follows is found from there on.
			if e.lo, e.firstOne, before = next, true, nil; !one.holds {
				e.lo, e.firstOne, next = one.at, false, one.at
				return true
			}
		}
		e.see(one.at)
		next = one.at
		before = append(before, one)
		trusted = in != nil && in.told && len(before) >= trustFrom && in.opened.Compare(one.at) < 0
		return !trusted
	})
	// Where the first readings of a recorded episode are deleted, it begins all the
	// same where it did.
	gone := in != nil && !e.alive[in.start] && (bound == nil || bound.Compare(in.start) < 0)
	if in != nil && in.start != e.lo && (trusted || gone) {
		s.cur = &run{start: in.start, opened: in.opened, raised: in.raised}
	}
	for _, one := range slices.Backward(before) {
		s.add(one)
	}
	return err
}

// see remembers that the first reading of a known episode is stored.
func (e *evaluation) see(p varve.Position) {
	if e.known.at(p) != nil {
		e.alive[p] = true
	}
}

// gapBetween reports whether a gap is between the times of two readings.
func (e *evaluation) gapBetween(from, to int64) bool {
	gap := e.rule.gap()
	return gap > 0 && to-from > int64(gap)
}

// take takes the next reading, and reports whether more are of interest.
func (s *scan) take(r *varve.Reading) bool {
	one, counts := s.sample(r)
	if !counts || one.at.Compare(s.lo) < 0 {
		return true
	}
	s.see(one.at)
	after := one.at.Compare(s.hi) > 0
	if after {
		s.far++
	}
	if s.cur != nil && s.last != 0 && s.gapBetween(s.last, one.at.Time) {
		s.close(afterGap(s.last, s.rule.gap()), true)
	}
	if !one.holds {
		if s.cur != nil {
			at := one.at
			s.close(&at, false)
		}
		// One inside of an episode is stored, and the record does not have it yet.
		return !after || s.covered(one.at)
	}
	if after && s.cur == nil && !s.covered(one.at) {
		return false // what goes on from here is as it was
	}
	s.add(one)
	if s.far < trustFrom || !s.opened() || s.cur.opened.Compare(one.at) >= 0 {
		return true
	}
	if in := s.known.covering(one.at); in != nil && in.told {
		s.close(in.end, in.silent)
		return false
	}
	return true
}

// opened reports whether the episode has lasted long enough.
func (s *scan) opened() bool { return s.cur.opened != varve.Position{} }

// add adds a reading for which the condition holds.
func (s *scan) add(one sample) {
	if s.cur == nil {
		s.cur = &run{start: one.at, seen: true}
	}
	s.last = one.at.Time
	held := time.Duration(one.at.Time - s.cur.start.Time)
	if held >= s.rule.For && (!s.opened() || one.at.Compare(s.cur.opened) <= 0) {
		s.cur.opened, s.cur.raised = one.at, one.raised
	}
}

// close ends the episode, if there is one, at a position: that of a reading for
// which the condition fails, or one after a gap. It counts if it has lasted long
// enough.
func (s *scan) close(end *varve.Position, silent bool) {
	if s.cur == nil {
		return
	}
	s.cur.end, s.cur.silent = end, silent
	if s.opened() && (end == nil || s.cur.opened.Compare(*end) < 0) {
		s.runs = append(s.runs, *s.cur)
	}
	s.cur, s.last = nil, 0
}
