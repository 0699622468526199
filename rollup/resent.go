package rollup

import (
	"slices"

	"github.com/varvedb/varve"
)

// Resent is how readings count of which it is unclear whether they are copies of
// readings that were counted before and are gone.
type Resent uint8

// The settings. With IgnoreResent, no reading ever counts twice; with CountResent,
// none is ever missing.
const (
	IgnoreResent Resent = iota
	CountResent
)

// String returns the setting's word.
func (r Resent) String() string {
	if r == CountResent {
		return "count"
	}
	return "ignore"
}

// sieve tells the readings of a slot that are new from copies of readings that
// were counted on an earlier day. It takes them in the order of time.
type sieve struct {
	seen
	blank  tally // what tallies begin as
	minute int   // whose readings inMinute has
	// Readings are in inMinute where partials have summaries of their minute, else
	// in inHour.
	inMinute, inHour run
	known, unclear   *tally
}

func newSieve(s seen, blank tally) *sieve {
	return &sieve{
		seen: s, blank: blank, minute: -1,
		inMinute: run{mask: 1<<(8*digestBytes) - 1, held: blank.fresh()},
		inHour:   run{of: s.hours, mask: ^uint64(0), held: blank.fresh()},
		known:    blank.fresh(), unclear: blank.fresh(),
	}
}

// add takes a reading.
func (s *sieve) add(r *varve.Reading) {
	e := entryOf(r.Position())
	if e.minute != s.minute {
		s.endMinute()
		s.minute, s.inMinute.of = e.minute, slices.Clone(s.minutes[e.minute])
	}
	to := &s.inHour
	switch {
	case s.prints[e.print()]:
		s.known.add(r)
		return
	case len(s.inMinute.of) > 0:
		to = &s.inMinute
	}
	to.held.add(r)
	to.release(s.known)
}

// endMinute ends a minute: whatever it holds yet is unclear.
func (s *sieve) endMinute() {
	if s.inMinute.held.sum.Readings > 0 {
		s.inMinute.handOn(s.unclear)
	}
}

// end ends the hour, and returns the new readings. Whatever else there is, is
// known, or unclear.
func (s *sieve) end() *tally {
	s.endMinute()
	if len(s.inHour.of) == 0 {
		return s.inHour.held
	}
	s.inHour.handOn(s.unclear)
	return s.inHour.held
}

// run is readings that follow one another, of which some may be known.
type run struct {
	of   []summary // of known readings that may be among them
	mask uint64    // the bits of digests that the summaries have
	held *tally    // since the last that were known
}

// release hands on what is held if it is exactly what one of the summaries is of,
// or all of them are together.
func (r *run) release(known *tally) {
	var all summary
	for i, o := range r.of {
		if r.holds(o) {
			r.of = slices.Delete(r.of, i, i+1)
			r.handOn(known)
			return
		}
		all.add(o)
	}
	if len(r.of) > 0 && r.holds(all) {
		r.of = nil
		r.handOn(known)
	}
}

func (r *run) holds(s summary) bool {
	return r.held.sum.Readings == s.readings && (r.held.sum.digest^s.digest)&r.mask == 0
}

// handOn empties the run into a tally.
func (r *run) handOn(to *tally) {
	to.absorb(r.held)
	r.held = r.held.fresh()
}
