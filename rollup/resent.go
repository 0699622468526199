package rollup

import (
	"slices"

	"github.com/varvedb/varve"
)

// Resent selects how unclear readings count: readings that may be copies of dropped readings
// which were counted before.
type Resent uint8

// The settings. With IgnoreResent, no reading ever counts twice. With CountResent, no reading
// is ever missing.
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

// copyFilter separates new readings of a slot from copies of readings that were counted on
// an earlier arrival day. Readings must be added in the order of their positions.
type copyFilter struct {
	earlierReadings
	blank  tally // the settings of tallies
	minute int   // the minute of the readings in inMinute
	// Readings are pending in inMinute if partials have summaries of their minute, else in
	// inHour.
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

// add adds a reading.
func (f *copyFilter) add(r *varve.Reading) {
	e := entryOf(r.Position())
	if e.minute != f.minute {
		f.endMinute()
		f.minute, f.inMinute.candidates = e.minute, slices.Clone(f.minutes[e.minute])
	}
	to := &f.inHour
	switch {
	case f.fingerprints[e.fingerprint()]:
		f.known.add(r)
		return
	case len(f.inMinute.candidates) > 0:
		to = &f.inMinute
	}
	to.tally.add(r)
	to.releaseKnown(f.known)
}

// endMinute ends a minute. Its pending readings are unclear.
func (f *copyFilter) endMinute() {
	if f.inMinute.tally.sum.Readings > 0 {
		f.inMinute.moveTo(f.unclear)
	}
}

// finish ends the hour, and returns the new readings. All others are in known or unclear.
func (f *copyFilter) finish() *tally {
	f.endMinute()
	if len(f.inHour.candidates) == 0 {
		return f.inHour.tally
	}
	f.inHour.moveTo(f.unclear)
	return f.inHour.tally
}

// pendingReadings are consecutive readings since the last known ones. They may be known.
type pendingReadings struct {
	candidates []summary // of known readings that may be among them
	mask       uint64    // the bits of digests that summaries hold
	tally      *tally
}

// releaseKnown moves the readings to known if they match one of the candidates, or all
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

// moveTo moves all readings into a tally.
func (p *pendingReadings) moveTo(to *tally) {
	to.absorb(p.tally)
	p.tally = p.tally.newEmpty()
}
