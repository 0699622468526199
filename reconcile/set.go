package reconcile

import (
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

// Set has the hashes of the readings that a sender has of one series. A reading may be added twice.
// A Set needs 16 bytes for each reading. The zero Set is empty. Len and Spans treat a nil *Set as empty.
type Set struct {
	hours map[int64][]Digest // digests of single readings, by the start of their hour in seconds since 1970
}

// Add adds a reading. The reading must be normalized.
func (s *Set) Add(r *varve.Reading) {
	if s.hours == nil {
		s.hours = map[int64][]Digest{}
	}
	hour := startOf(rollup.Hourly, r.Time.Unix())
	s.hours[hour] = append(s.hours[hour], digestOf(r))
}

// periods returns the digests of the periods with readings.
func (s *Set) periods(p rollup.Period) map[int64]Digest {
	periods := map[int64]Digest{}
	if s == nil {
		return periods
	}
	for hour, list := range s.hours {
		slices.SortFunc(list, Digest.Compare)
		s.hours[hour] = slices.Compact(list)
		sum := periods[startOf(p, hour)]
		for _, d := range s.hours[hour] {
			sum.Add(d)
		}
		periods[startOf(p, hour)] = sum
	}
	return periods
}

// maxGap is the largest number of consecutive empty periods in a span. After a longer gap, another span
// begins.
const maxGap = 8

// Spans returns the digests of all periods with readings. Each digest is shortened to 8 characters.
//
// If the argument "days" is not nil, it has the starts of days. Spans then returns the digests of all
// periods of these days, with "" for periods without readings. It also fills gaps of up to maxGap
// periods with "", so that a span continues after them.
func (s *Set) Spans(p rollup.Period, days []time.Time) (spans []Span) {
	periods := s.periods(p)
	length := secondsOf(p)
	if days != nil {
		wanted := map[int64]Digest{}
		for _, day := range days {
			for at := day.Unix(); at < day.Unix()+secondsOf(rollup.Daily); at += length {
				wanted[at] = periods[at]
			}
		}
		periods = wanted
	}
	end := int64(0)
	for _, at := range slices.Sorted(maps.Keys(periods)) {
		if n := len(spans); n == 0 || at-end > maxGap*length {
			spans = append(spans, Span{From: time.Unix(at, 0).UTC()})
			end = at
		}
		last := &spans[len(spans)-1]
		for ; end < at; end += length {
			last.Digests = append(last.Digests, "")
		}
		text := ""
		if d := periods[at]; d != (Digest{}) {
			text = d.String()[:MinPrefix]
		}
		last.Digests = append(last.Digests, text)
		end = at + length
	}
	return spans
}

// Contains reports whether a reading was added. The reading must be normalized, and Spans must have been called
// after the last Add. Concurrent calls are allowed.
func (s *Set) Contains(r *varve.Reading) bool {
	_, found := slices.BinarySearchFunc(s.hours[startOf(rollup.Hourly, r.Time.Unix())], digestOf(r), Digest.Compare)
	return found
}

// digestOf returns the digest of a normalized reading.
func digestOf(r *varve.Reading) Digest {
	at := r.Position()
	if at.ID.IsZero() {
		at.ID = r.ContentID()
	}
	return HashOf(at)
}

// Len returns the number of readings. Until Spans is called, a reading that was added twice counts
// twice.
func (s *Set) Len() (n int) {
	if s == nil {
		return 0
	}
	for _, list := range s.hours {
		n += len(list)
	}
	return n
}
