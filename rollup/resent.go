package rollup

import (
	"slices"

	"github.com/varvedb/varve"
)

// Resent selects whether unclear readings count. A reading is unclear if it may be a copy of a
// counted reading that was dropped.
type Resent uint8

// The settings. With IgnoreResent, no reading ever counts twice, but some may be missing. With
// CountResent, no reading is ever missing, but some may count twice.
const (
	IgnoreResent Resent = iota
	CountResent
)

// String returns the value of the setting rollups.resent.
func (r Resent) String() string {
	if r == CountResent {
		return "count"
	}
	return "ignore"
}

// copyFilter separates new readings of a slot from copies of readings that were counted on an
// earlier arrival day. Readings must be added in the order of their positions.
type copyFilter struct {
	earlierReadings
	blank  tally // an empty tally, from which the other tallies get their settings
	minute int   // current minute, whose readings are in inMinute
	// A pending reading of the current minute is in inMinute while a summary of that minute is still
	// without a match. All other pending readings are in inHour.
	inMinute, inHour pendingReadings
	known, unclear   *tally
}

func newCopyFilter(earlier earlierReadings, blank tally) *copyFilter {
	return &copyFilter{
		earlierReadings: earlier, blank: blank, minute: -1,
		inMinute: pendingReadings{mask: 1<<(8*digestBytes) - 1, tally: blank.newEmpty()},
		inHour:   pendingReadings{candidates: earlier.hours, mask: ^uint64(0), tally: blank.newEmpty()},
		known:    blank.newEmpty(), unclear: blank.newEmpty(),
	}
}

// add puts a reading into a tally: into known if it is a copy of a counted reading, or else into a
// pending tally.
func (f *copyFilter) add(r *varve.Reading) {
	e := entryOf(r.Position())
	if e.minute != f.minute {
		f.endMinute()
		f.minute, f.inMinute.candidates = e.minute, slices.Clone(f.minutes[e.minute])
	}
	to := &f.inHour
	switch {
	case f.isKnown(r.Position()):
		f.known.add(r)
		return
	case len(f.inMinute.candidates) > 0:
		to = &f.inMinute
	}
	to.tally.add(r)
	to.releaseKnown(f.known)
}

// isKnown reports whether the fingerprint of a reading, or of its original, is known.
func (f *copyFilter) isKnown(at varve.Position) bool {
	if f.fingerprints[entryOf(at).fingerprint()] || at.ID.Version() == 0 {
		return f.fingerprints[entryOf(at).fingerprint()]
	}
	at.ID = at.ID.WithVersion(0)
	return f.fingerprints[entryOf(at).fingerprint()]
}

// endMinute ends the current minute. Readings that are still pending become unclear.
func (f *copyFilter) endMinute() {
	if f.inMinute.tally.sum.Readings > 0 {
		f.inMinute.moveTo(f.unclear)
	}
}

// finish ends the hour and returns the new readings. All other readings are in the fields known and
// unclear.
func (f *copyFilter) finish() *tally {
	f.endMinute()
	if len(f.inHour.candidates) == 0 {
		return f.inHour.tally
	}
	f.inHour.moveTo(f.unclear)
	return f.inHour.tally
}

// pendingReadings are the consecutive readings after the last known readings. A reading is known if
// it is a copy of a counted reading. For pending readings, this is not decided yet.
type pendingReadings struct {
	candidates []summary // summaries of counted readings whose copies may be pending
	mask       uint64    // the bits of a digest that summaries contain
	tally      *tally
}

// releaseKnown moves the pending readings to known if they match one of the candidates, or all
// candidates together.
func (p *pendingReadings) releaseKnown(known *tally) {
	var all summary
	for i, o := range p.candidates {
		if p.matches(o) {
			p.candidates = slices.Delete(p.candidates, i, i+1)
			p.moveTo(known)
			return
		}
		all.add(o)
	}
	if len(p.candidates) > 0 && p.matches(all) {
		p.candidates = nil
		p.moveTo(known)
	}
}

func (p *pendingReadings) matches(s summary) bool {
	return p.tally.sum.Readings == s.readings && (p.tally.sum.digest^s.digest)&p.mask == 0
}

func (p *pendingReadings) moveTo(to *tally) {
	to.absorb(p.tally)
	p.tally = p.tally.newEmpty()
}
