package alerts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

// evaluation compares the episodes that the stored readings of a series make
// around readings that came, by one rule, with those that are recorded.
//
//	stored   ○ ● ● ○ ●│● ○ ● ●│● ● ○ ─ ─      ● the condition holds  ○ it does not
//	                  lo      hi
//	back ◀── to the episode's start  to its end ──▶ on
//
// Readings are looked at where episodes are recorded, or may be from now on. A
// record is trusted only far away from the readings that came, so that nobody
// reads a long episode to its ends.
type evaluation struct {
	m       *Monitor
	rule    *Rule
	series  varve.Series
	message string // of the alerts

	some     bool           // readings came that count, or may
	lo, hi   varve.Position // the first and last of them
	holds    bool           // the condition holds for all of them, for certain
	fails    bool           // for none, for certain
	firstOne bool           // it may hold for the first

	known timeline                // recorded: those at lo, from there to hi, and the next
	was   timeline                // recorded before this evaluation changed something
	alive map[varve.Position]bool // first readings of known episodes that are stored
	lost  map[varve.Position]bool // starts of episodes which another process has changed first
}

// add adds a reading whose identity is stored. One with an id of its own that is
// not new may be stored with other values, also in another month's table: the
// condition may hold for it or not, and the stored values decide.
func (e *evaluation) add(r *varve.Reading, o varve.Outcome) {
	holds, counts := e.rule.meets(r.Field(e.rule.Field))
	may, mayNot := counts && holds, counts && !holds
	if o != varve.Stored && r.HasOwnID() {
		may, mayNot = true, true
	}
	if !may && !mayNot {
		return
	}
	p := r.Position()
	if !e.some {
		e.some, e.lo, e.hi, e.holds, e.fails, e.firstOne = true, p, p, true, true, may
	}
	if p.Compare(e.lo) < 0 {
		e.lo, e.firstOne = p, may
	}
	if p.Compare(e.hi) > 0 {
		e.hi = p
	}
	e.holds, e.fails = e.holds && !mayNot, e.fails && !may
}

// evaluationTries is how often an evaluation is repeated because others change
// the same episodes.
const evaluationTries = 100

// reconcile updates the recorded episodes and their alerts to match the stored
// readings.
func (e *evaluation) reconcile(ctx context.Context) error {
	if !e.some {
		return nil
	}
	for try := range evaluationTries {
		if err := e.load(ctx); err != nil {
			return err
		}
		if try == 0 {
			if same, err := e.unaffected(ctx); same || err != nil {
				return err
			}
		}
		if err := e.loadAround(ctx); err != nil {
			return err
		}
		runs, err := e.scan(ctx)
		if err != nil {
			return fmt.Errorf("read the readings around %s: %w", time.Unix(0, e.lo.Time).UTC().Format(time.RFC3339Nano), err)
		}
		changed, err := e.change(ctx, runs)
		if err != nil || !changed || e.m.atomic != nil && len(e.lost) == 0 {
			return err // who has the store alone needs no other try
		}
		e.widen(runs)
	}
	return fmt.Errorf("the episodes of rule %s and %s change all the time", e.rule.ID, e.series)
}

// widen prepares for another try after something was changed. Another process
// may have stored a reading there since this one read them, and have compared it
// with the records of before: found no episode where there is one now, or one
// where there is none.
func (e *evaluation) widen(runs []run) {
	e.was = timelineOf(append(e.was.runs, e.known.runs...)...)
	for i := range runs {
		r := &runs[i]
		if r.seen && r.start.Compare(e.lo) < 0 {
			e.lo, e.firstOne = r.start, true
		}
	}
}

// load reads the recorded episodes: the one that begins at lo or before, and
// those that begin from there to hi.
func (e *evaluation) load(ctx context.Context) error {
	if e.lost == nil {
		e.lost = map[varve.Position]bool{}
	}
	e.alive = map[varve.Position]bool{}
	runs, err := e.m.notes(ctx, e.rule, e.series, "", behind(e.lo), varve.Descending, 1)
	if err == nil && e.lo != e.hi {
		var inner []run
		inner, err = e.m.notes(ctx, e.rule, e.series, behind(e.lo), behind(e.hi), varve.Ascending, 0)
		runs = append(runs, inner...)
	}
	e.known = timelineOf(runs...)
	return err
}

// loadAround adds the next recorded episodes before lo and after hi to those that
// are known. If one of them is not published, an evaluation was cut off there, and
// is done again with this one.
func (e *evaluation) loadAround(ctx context.Context) error {
	if err := e.loadBefore(ctx); err != nil {
		return err
	}
	for {
		next, err := e.m.notes(ctx, e.rule, e.series, behind(e.hi), "", varve.Ascending, 1)
		e.known = timelineOf(append(e.known.runs, next...)...)
		if err != nil || len(next) == 0 || next[0].told {
			return err
		}
		e.hi = next[0].start
	}
}

// loadBefore adds the recorded episode before one that begins at lo. The first
// may have to end where that one begins, and an evaluation was cut off before it
// was recorded.
func (e *evaluation) loadBefore(ctx context.Context) error {
	for len(e.known.runs) > 0 {
		first := &e.known.runs[0]
		if d := first.start.Compare(e.lo); d > 0 || d < 0 && first.told {
			return nil
		} else if d < 0 {
			e.lo, e.firstOne = first.start, true
		}
		before, err := e.m.notes(ctx, e.rule, e.series, "", positionText(e.lo), varve.Descending, 1)
		if err != nil || len(before) == 0 {
			return err
		}
		e.known = timelineOf(append(e.known.runs, before...)...)
	}
	return nil
}

// unaffected reports whether the readings change nothing for certain. Those for
// which the condition fails do not, outside of every episode: they can only make
// shorter what is too short already. Those for which it holds do not, inside of
// an episode, if no gap is before them.
func (e *evaluation) unaffected(ctx context.Context) (bool, error) {
	if slices.ContainsFunc(e.known.runs, func(k run) bool { return !k.told || k.start.Compare(e.lo) > 0 }) {
		return false, nil
	}
	in := e.known.covering(e.lo)
	if e.fails {
		return in == nil, nil
	}
	if !e.holds || in == nil || !in.covers(e.hi) || in.opened.Compare(e.lo) > 0 {
		return false, nil
	}
	switch gap := e.rule.gap(); {
	case gap == 0:
		return true, nil
	case in.silent: // the last reading of before stays the last
		return e.hi.Time <= in.end.Time-1-int64(gap), nil
	case in.end != nil:
		return true, nil
	default:
		return e.goesOn(ctx, in, gap)
	}
}

// goesOn reports whether the readings that came, for which the condition holds,
// follow a reading of an episode that has not ended, with no gap.
func (e *evaluation) goesOn(ctx context.Context, in *run, gap time.Duration) (found bool, err error) {
	if e.hi.Time-e.lo.Time > int64(gap) {
		return false, nil
	}
	w := varve.Window{From: time.Unix(0, max(in.start.Time, e.lo.Time-int64(gap))), To: time.Unix(0, e.lo.Time)}
	err = e.m.opts.Source.Read(ctx, e.series, w, varve.Descending, func(r *varve.Reading) bool {
		one, counts := e.sample(r)
		found = counts && in.covers(one.at)
		return !found
	})
	if err != nil {
		return false, fmt.Errorf("read the reading before: %w", err)
	}
	return found, nil
}

// covered reports whether a position lies behind the start of an episode that is
// known, or was before this evaluation changed something.
func (e *evaluation) covered(p varve.Position) bool { return e.known.within(p) || e.was.within(p) }

// sample is what a rule sees of a reading.
type sample struct {
	at    varve.Position
	holds bool
	raised
}

// lateFrom is how long after it happened a reading arrives that is late.
const lateFrom = time.Hour

func (e *evaluation) sample(r *varve.Reading) (one sample, counts bool) {
	v := r.Field(e.rule.Field)
	one.at, one.value, one.late = r.Position(), v, r.Arrived.Sub(r.Time) >= lateFrom
	one.holds, counts = e.rule.meets(v)
	return one, counts
}
