package alerts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

// evaluation brings the episodes of a subject up to date after a write.
type evaluation struct {
	reconciler
	kind    readingKind
	samples *storedSamples
	writes  writes  // the readings of the write
	written written // the part of writes that is evaluated
	known   history
	scratch sample // sample of the reading that is added; reused
}

// add records whether the condition may hold or fail for a reading of the write. If the client chose
// the id, a duplicate or a conflict may have other values than the stored reading. The evaluation
// uses the stored values, so both results are possible. Both are also possible for a correction: its
// values may differ from the earlier version, and a higher version may be stored.
func (e *evaluation) add(r *varve.Reading, o varve.Outcome) {
	one := &e.scratch
	counts := e.kind.sample(e.rule, r, one)
	mayHold, mayFail := counts && one.holds, counts && !one.holds
	if o != varve.Stored && r.HasOwnID() || r.ID.Version() > 0 {
		mayHold, mayFail = true, true
	}
	e.writes.add(one.at, mayHold, mayFail)
}

// maxTries bounds the tries of an evaluation while other processes change the same
// episodes.
const maxTries = 100

// apply updates the recorded episodes and their alerts to match the stored readings.
func (e *evaluation) apply(ctx context.Context) error {
	for _, w := range e.writes {
		e.written, e.known = w, history{}
		if err := e.applyWritten(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) applyWritten(ctx context.Context) error {
	for try := range maxTries {
		if err := e.load(ctx); err != nil {
			return err
		}
		if try == 0 {
			if same, err := e.unaffected(); same || err != nil {
				return err
			}
		}
		if err := e.loadAround(ctx); err != nil {
			return err
		}
		found, err := e.evaluate(ctx)
		if err != nil {
			return fmt.Errorf("read the readings around %s: %w", time.Unix(0, e.written.lo.Time).UTC().Format(time.RFC3339Nano), err)
		}
		changed, err := e.reconcile(ctx, &found, &e.known)
		if err != nil || !changed || e.atomic != nil && len(e.contested) == 0 {
			return err // after an atomic write without a conflict, the next try would find no difference
		}
		e.widen(found.wanted)
	}
	return fmt.Errorf("evaluate rule %s of %s: other processes changed its episodes %d times", e.rule.ID, e.series, maxTries)
}

// widen extends the evaluated span for another try, after this try has changed episodes. It also
// remembers the records that this try has read. The next try needs them, because another process may have
// evaluated a new reading with them before this try changed the episodes.
func (e *evaluation) widen(wanted []episode) {
	e.known.earlier = e.known.earlier.with(e.known.recorded.episodes...)
	for i := range wanted {
		w := &wanted[i]
		if w.read && w.start.Compare(e.written.lo) < 0 {
			e.written.lo, e.written.mayHold = w.start, true
		}
	}
}

// evaluate returns the episodes that touch the written readings. If a recorded episode is
// replaced in part, the rest of it is evaluated, too.
func (e *evaluation) evaluate(ctx context.Context) (findings, error) {
	for {
		found, err := evaluate(e.rule, e.samples, e.written.span, e.known)
		if err != nil {
			return found, err
		}
		e.written.span, e.known.stored = found.span, found.stored
		more, err := e.loadInside(ctx, found.wanted)
		if err != nil || !more {
			return found, err
		}
	}
}

// load reads the last recorded episode that begins at lo or before, and all that begin
// after lo, up to hi.
func (e *evaluation) load(ctx context.Context) error {
	w := &e.written
	episodes, err := e.records.load(ctx, &e.subject, keyRange{to: keyAfter(w.lo), order: varve.Descending, limit: 1})
	if err == nil && w.lo != w.hi {
		var inner []episode
		inner, err = e.records.load(ctx, &e.subject, keyRange{from: keyAfter(w.lo), to: keyAfter(w.hi)})
		episodes = append(episodes, inner...)
	}
	e.known.recorded, e.known.stored = timelineOf(episodes...), nil
	return err
}

// loadAround reads the next recorded episode after hi, and episodes before lo; see loadBefore. An
// unpublished episode was left by an interrupted evaluation, so this evaluation covers it, too.
func (e *evaluation) loadAround(ctx context.Context) error {
	if err := e.loadBefore(ctx); err != nil {
		return err
	}
	for {
		next, err := e.records.load(ctx, &e.subject, keyRange{from: keyAfter(e.written.hi), limit: 1})
		e.known.recorded = e.known.recorded.with(next...)
		if err != nil || len(next) == 0 || next[0].published {
			return err
		}
		e.written.hi = next[0].start
	}
}

// loadBefore moves lo to the start of an unpublished episode that begins before lo. If a recorded
// episode begins at lo, loadBefore also reads the one before it. An interrupted evaluation may have
// recorded the later episode, but not the end of the earlier one.
func (e *evaluation) loadBefore(ctx context.Context) error {
	for len(e.known.recorded.episodes) > 0 {
		first := &e.known.recorded.episodes[0]
		if d := first.start.Compare(e.written.lo); d > 0 || d < 0 && first.published {
			return nil
		} else if d < 0 {
			e.written.lo, e.written.mayHold = first.start, true
		}
		before, err := e.records.load(ctx, &e.subject, keyRange{to: positionText(e.written.lo), order: varve.Descending, limit: 1})
		if err != nil || len(before) == 0 {
			return err
		}
		e.known.recorded = e.known.recorded.with(before...)
	}
	return nil
}

// loadInside reads the recorded episodes that begin after hi and before the end of the last wanted
// episode. It reports whether one of them reaches beyond that end.
func (e *evaluation) loadInside(ctx context.Context, wanted []episode) (beyond bool, err error) {
	if len(wanted) == 0 {
		return false, nil
	}
	last, to := &wanted[len(wanted)-1], ""
	if last.end != nil {
		if last.end.Compare(e.written.hi) <= 0 {
			return false, nil
		}
		to = positionText(*last.end)
	}
	inside, err := e.records.load(ctx, &e.subject, keyRange{from: keyAfter(e.written.hi), to: to})
	if err != nil {
		return false, err
	}
	inside = slices.DeleteFunc(inside, func(k episode) bool { return e.known.recorded.at(k.start) != nil })
	e.known.recorded = e.known.recorded.with(inside...)
	return last.end != nil && slices.ContainsFunc(inside, func(k episode) bool { return k.covers(*last.end) }), nil
}

// unaffected reports whether the written readings certainly change nothing. That is so in
// two cases:
//
//   - The condition fails, and the readings are outside every episode.
//   - The condition holds, and the readings are inside an episode, after its opening and without a
//     gap before them.
func (e *evaluation) unaffected() (bool, error) {
	w, recorded := &e.written, &e.known.recorded
	if slices.ContainsFunc(recorded.episodes, func(k episode) bool { return !k.published || k.start.Compare(w.lo) > 0 }) {
		return false, nil
	}
	in := recorded.covering(w.lo)
	if w.fails {
		return in == nil, nil
	}
	if !w.holds || in == nil || !in.covers(w.hi) || in.opened.Compare(w.lo) > 0 {
		return false, nil
	}
	switch gap := e.rule.maxSilence(); {
	case gap == 0:
		return true, nil
	case in.byGap: // the end stays, unless a written reading is later than the episode's last reading
		return w.hi.Time <= in.end.Time-1-int64(gap), nil
	case in.end != nil:
		return true, nil
	default:
		return e.continues(in, gap)
	}
}

// continues reports whether the written readings follow a reading of an open episode
// without a gap.
func (e *evaluation) continues(in *episode, gap time.Duration) (found bool, err error) {
	lo, hi := e.written.lo, e.written.hi
	if hi.Time-lo.Time > int64(gap) {
		return false, nil
	}
	w := varve.Window{From: time.Unix(0, max(in.start.Time, lo.Time-int64(gap))), To: time.Unix(0, lo.Time)}
	err = e.samples.within(w, varve.Descending, func(one *sample) bool {
		found = in.covers(one.at)
		return !found
	})
	if err != nil {
		return false, fmt.Errorf("read the previous reading: %w", err)
	}
	return found, nil
}
