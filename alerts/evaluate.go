package alerts

import (
	"maps"
	"time"

	"github.com/varvedb/varve"
)

// trustAfter is the number of samples on each side of a span that an evaluation reads before it trusts
// the record for the rest of an episode.
const trustAfter = 1000

// span is a range of positions, from the first to the last of some stored readings.
type span struct {
	lo, hi  varve.Position // positions of the first and the last reading
	mayHold bool           // the condition may hold for the first reading
}

// history has the records around a span.
type history struct {
	recorded timeline // records that the current try of the evaluation has read
	earlier  timeline // records that earlier tries of the evaluation have read
	// stored has the starts of recorded episodes whose first reading is stored.
	stored map[varve.Position]bool
}

// isInside reports whether a position is in an episode that begins before it and is,
// or was, recorded.
func (h *history) isInside(p varve.Position) bool {
	return h.recorded.isInside(p) || h.earlier.isInside(p)
}

type findings struct {
	span                           // the evaluated span; it begins before the span given to evaluate if readBack has moved the beginning
	wanted []episode               // the episodes that touch the span
	stored map[varve.Position]bool // history.stored, and the starts of recorded episodes whose first reading this evaluation found
}

// evaluate computes the episodes that touch a span, from stored samples. It is a pure function of
// its arguments. It fails only if samples cannot be read.
//
//	stored   ○ ● ● ○ ●│● ○ ● ●│● ● ○ ─ ─      ● the condition holds  ○ it does not
//	                  lo      hi
//	     ◀── back to the start of the episode     on to the end of the last one ──▶
//
// The records decide how far evaluate reads. Far from the span, evaluate trusts them, so that a long
// episode is not read to its ends.
func evaluate(rule *Rule, readings samples, around span, known history) (findings, error) {
	var wanted []episode
	found, err := evaluateInto(rule, readings, around, known, func(e *episode) { wanted = append(wanted, *e) })
	found.wanted = wanted
	return found, err
}

// evaluateInto is evaluate for many episodes: it passes each one to the function "add", in order,
// instead of returning it. An episode is valid until "add" returns.
func evaluateInto(rule *Rule, readings samples, around span, known history, add func(*episode)) (findings, error) {
	v := evaluator{wait: rule.For, gap: rule.maxSilence(), span: around, history: known, add: add}
	v.stored = maps.Clone(known.stored)
	if v.mayHold || v.isInside(v.lo) {
		if err := v.readBack(readings); err != nil {
			return findings{}, err
		}
	}
	if err := readings.from(v.lo, v.addForward); err != nil {
		return findings{}, err
	}
	v.closeEpisode(nil, false)
	return findings{span: v.span, stored: v.stored}, nil
}

type evaluator struct {
	wait, gap time.Duration // Rule.For and Rule.maxSilence
	span
	history

	current *episode // the episode of the last sample; nil if the sample is outside all episodes
	next    episode
	last    int64          // time of the last sample of current, in nanoseconds since 1970
	hasLast bool           // a sample of current was read
	add     func(*episode) // receives each episode that has lasted long enough
	after   int            // number of samples after hi that were read
	reached varve.Position // position of the last sample from lo on; zero before the first one
}

// readBack finds the start of the episode that reaches lo. It moves lo to an earlier position if an
// earlier reading ends the recorded episode, and the record does not show this yet. It stores no
// samples, because an episode may have millions of them.
func (v *evaluator) readBack(readings samples) error {
	in := v.recorded.upTo(v.lo)
	next := v.lo              // position of the sample after the one that is read
	n, last := 0, int64(0)    // number of samples of the episode before lo, and the time of the last one
	var bound *varve.Position // position of the last sample before the episode
	trusted := false
	err := readings.before(v.lo, func(one *sample) bool {
		inside := in != nil && in.covers(one.at)
		if v.isGap(one.at.Time, next.Time) || !one.holds {
			if !inside {
				at := one.at
				bound = &at
				return false
			}
			v.markStored(one.at)
			// The episode ends before next, and its record does not show this yet. So move lo back. Otherwise
			// the evaluation would miss the episodes between this place and lo.
			if v.lo, v.mayHold, n = next, true, 0; !one.holds {
				v.lo, v.mayHold, next = one.at, false, one.at
				return true
			}
		}
		v.markStored(one.at)
		if next = one.at; n == 0 {
			last = one.at.Time
		}
		n++
		trusted = in != nil && in.published && n >= trustAfter && in.opened.Compare(one.at) < 0
		return !trusted
	})
	// The loop may have stopped before it reached the start of the recorded episode, or the reading at this
	// start may be deleted. In both cases, use the recorded start. Otherwise the episode would begin too late.
	deleted := in != nil && !v.stored[in.start] && (bound == nil || bound.Compare(in.start) < 0)
	if in != nil && in.start != v.lo && (trusted || deleted) {
		v.current = &episode{start: in.start, opened: in.opened, opening: in.opening}
	}
	if err != nil || n == 0 {
		return err
	}
	if v.current == nil {
		v.begin(next)
	}
	v.last, v.hasLast = last, true
	if trusted || time.Duration(last-v.current.start.Time) < v.wait {
		return nil // no sample before lo changes the opening
	}
	return v.findOpening(readings, next)
}

// findOpening reads the samples of the current episode from a position on, until one of them opens it.
// It ignores samples for which the condition fails. They were stored after readBack, and the evaluation
// of their write follows.
func (v *evaluator) findOpening(readings samples, from varve.Position) error {
	return readings.from(from, func(one *sample) bool {
		if one.at.Compare(v.lo) >= 0 {
			return false
		}
		if one.holds {
			v.addOpening(one)
		}
		return !v.current.isOpened() || one.at.Compare(v.current.opened) < 0
	})
}

// markStored records that the reading at p is stored, if a recorded episode begins at p.
func (v *evaluator) markStored(p varve.Position) {
	if v.recorded.at(p) == nil {
		return
	}
	if v.stored == nil {
		v.stored = map[varve.Position]bool{}
	}
	v.stored[p] = true
}

// isGap reports whether the times of two samples are too far apart for one episode.
func (v *evaluator) isGap(from, to int64) bool { return v.gap > 0 && to-from > int64(v.gap) }

// addForward adds the next sample, and reports whether more samples are needed.
func (v *evaluator) addForward(one *sample) bool {
	v.markStored(one.at)
	after := one.at.Compare(v.hi) > 0
	if after {
		v.after++
	}
	if v.current == nil {
		v.resume(one.at)
	}
	v.reached = one.at
	if v.current != nil && v.hasLast && v.isGap(v.last, one.at.Time) {
		v.closeEpisode(endByGap(v.last, v.gap), true)
	}
	if !one.holds {
		if v.current != nil {
			at := one.at
			v.closeEpisode(&at, false)
		}
		// After hi, a sample for which the condition fails ends the evaluation. The exception is a sample
		// that a recorded episode covers, because the record does not reflect the sample yet.
		return !after || v.isInside(one.at)
	}
	if after && v.current == nil && !v.isInside(one.at) {
		return false // the records of all later episodes are still correct
	}
	v.extend(one)
	if v.after < trustAfter || !v.current.isOpened() || v.current.opened.Compare(one.at) >= 0 {
		return true
	}
	if in := v.recorded.covering(one.at); in != nil && in.published {
		v.closeEpisode(in.end, in.byGap)
		return false
	}
	return true
}

// resume continues the recorded episode that covers the next sample, if the reading at its start is missing
// and the next sample is the first one after the start. The reading may be deleted, or its correction may
// lack the field. Otherwise a second episode would begin at the sample. readBack does the same for starts
// before lo.
func (v *evaluator) resume(next varve.Position) {
	in := v.recorded.covering(next)
	if in == nil || v.stored[in.start] || in.start.Compare(v.lo) < 0 || v.reached.Compare(in.start) > 0 {
		return
	}
	v.current = &episode{start: in.start, opened: in.opened, opening: in.opening}
}

// begin starts an episode at a position.
func (v *evaluator) begin(start varve.Position) {
	v.next = episode{start: start, read: true}
	v.current = &v.next
}

// extend adds a sample to the current episode. The condition must hold for the sample.
func (v *evaluator) extend(one *sample) {
	if v.current == nil {
		v.begin(one.at)
	}
	v.last, v.hasLast = one.at.Time, true
	v.addOpening(one)
}

// addOpening opens the current episode at a sample, unless an earlier sample opens it.
func (v *evaluator) addOpening(one *sample) {
	c := v.current
	length := time.Duration(one.at.Time - c.start.Time)
	if length >= v.wait && (!c.isOpened() || one.at.Compare(c.opened) <= 0) {
		c.opened, c.opening = one.at, one.opening
	}
}

// closeEpisode completes the current episode, which stays open if the argument "end" is nil. If the
// episode has lasted long enough, it is passed to the function "add".
func (v *evaluator) closeEpisode(end *varve.Position, byGap bool) {
	c := v.current
	if c == nil {
		return
	}
	c.end, c.byGap = end, byGap
	if c.isOpened() && (end == nil || c.opened.Compare(*end) < 0) {
		v.add(c)
	} else if !c.read {
		v.markStored(c.start) // so that the record is removed, although its first reading is missing
	}
	v.current, v.hasLast = nil, false
}
