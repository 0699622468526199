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
//	stored   ○ ● ● ○ ●│● ○ ● ●│● ● ○ ─ ─      ● the condition holds  ○ it does not
//	                  lo      hi
//	back ◀── to the run's start      to its end ──▶ on
//
// Readings are looked at where runs are noted, or may be from now on. What is
// noted is trusted only far away from the readings that came, so that nobody
// reads a long run to its ends.
type look struct {
	f      *Fleet
	rule   *Rule
	series varve.Series

	some     bool           // readings came that count, or may
	lo, hi   varve.Position // the first and last of them
	holds    bool           // the condition holds for all of them, for certain
	fails    bool           // for none, for certain
	firstOne bool           // it may hold for the first

	known  []run                   // noted: those at lo, from there to hi, and the next
	was    []run                   // noted before this look changed something
	alive  map[varve.Position]bool // readings that were read
	beyond bool                    // there are readings behind hi
	lost   map[varve.Position]bool // starts of runs about which another process was first, and may have been told over
}

// came adds a reading that is stored. One that was there already may be stored
// with other values than it came with now, unless its id is one of its content:
// the condition may hold for it or not, and what is stored decides.
func (l *look) came(r *varve.Reading, o varve.Outcome) {
	holds, counts := l.rule.meets(r.Field(l.rule.Field))
	may, mayNot := counts && holds, counts && !holds
	if o == varve.Duplicate && r.ID != r.ContentID() {
		may, mayNot = true, true
	}
	if !may && !mayNot {
		return
	}
	p := r.Position()
	if !l.some {
		l.some, l.lo, l.hi, l.holds, l.fails, l.firstOne = true, p, p, true, true, may
	}
	if p.Compare(l.lo) < 0 {
		l.lo, l.firstOne = p, may
	}
	if p.Compare(l.hi) > 0 {
		l.hi = p
	}
	l.holds, l.fails = l.holds && !mayNot, l.fails && !may
}

// lookTries is how often a look is repeated because others change the same
// runs.
const lookTries = 100

// settle makes what is noted what the stored readings say.
func (l *look) settle(ctx context.Context) error {
	if !l.some {
		return nil
	}
	for try := range lookTries {
		if err := l.recall(ctx); err != nil {
			return err
		}
		if try == 0 && l.usual() {
			return nil
		}
		if err := l.around(ctx); err != nil {
			return err
		}
		runs, err := l.scan(ctx)
		if err != nil {
			return fmt.Errorf("read the readings around %s: %w", time.Unix(0, l.lo.Time).UTC().Format(time.RFC3339Nano), err)
		}
		changed, err := l.change(ctx, runs)
		if err != nil || !changed {
			return err
		}
		l.widen(runs)
	}
	return fmt.Errorf("the runs of rule %s and %s change all the time", l.rule.ID, l.series)
}

// widen prepares for looking again after something was changed. Another process
// may have stored a reading there since this one read them, and have looked at
// what was noted before: found no run where there is one now, or a run where
// there is none.
func (l *look) widen(runs []run) {
	l.was = append(l.was, l.known...)
	for i := range runs {
		r := &runs[i]
		if r.seen && r.start.Compare(l.lo) < 0 {
			l.lo, l.firstOne = r.start, true
		}
	}
}

// recall reads what is noted: the run that begins at lo or before, and those
// that begin from there to hi.
func (l *look) recall(ctx context.Context) (err error) {
	if l.lost == nil {
		l.lost = map[varve.Position]bool{}
	}
	l.alive, l.beyond = map[varve.Position]bool{}, false
	if l.known, err = l.f.notes(ctx, l.rule, l.series, "", behind(l.lo), varve.Descending, 1); err != nil || l.lo == l.hi {
		return err
	}
	inner, err := l.f.notes(ctx, l.rule, l.series, behind(l.lo), behind(l.hi), varve.Ascending, 0)
	l.known = append(l.known, inner...)
	return err
}

// around adds the next run behind hi to what is known. If the run before or
// behind the readings that came has a note that says that a look was cut off
// there, that look is done again with this one.
func (l *look) around(ctx context.Context) error {
	if len(l.known) > 0 && !l.known[0].told && l.known[0].start.Compare(l.lo) < 0 {
		l.lo, l.firstOne = l.known[0].start, true
		if err := l.recall(ctx); err != nil {
			return err
		}
	}
	for {
		next, err := l.f.notes(ctx, l.rule, l.series, behind(l.hi), "", varve.Ascending, 1)
		l.known = append(l.known, next...)
		if err != nil || len(next) == 0 || next[0].told {
			return err
		}
		l.hi = next[0].start
	}
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

// covered reports whether a position lies behind the start of a run that is
// known, or was before this look changed something.
func (l *look) covered(p varve.Position) bool {
	behindStart := func(k run) bool { return k.covers(p) && k.start != p }
	return slices.ContainsFunc(l.known, behindStart) || slices.ContainsFunc(l.was, behindStart)
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
