package calendar

import (
	"time"

	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
)

// arrival is a load that arrived evenly between two times.
type arrival struct {
	from, to time.Time
	load     Load
}

// expireDelay is the average delay of the deletion of expired readings. It is half of the 20 hours
// that the rotator waits between two deletions.
const expireDelay = 10 * time.Hour

// deletedUntil returns the arrival before which the store has deleted the readings of a class.
func deletedUntil(p *rotator.Policy, grace, classRetention time.Duration, now time.Time) time.Time {
	return now.Add(-max(classRetention+grace, p.RecountGrace) - expireDelay)
}

// expire removes the load that the store has deleted by a time. It also updates the stored load of
// the month that contains the last instant before that time.
func (s *simulation) expire(now time.Time) {
	if s.Policy.Drop && !s.Policy.ArchiveFirst {
		for t, list := range s.arrivals {
			in := &s.tables[s.at[t]]
			class, ok := s.Policy.Retention.ClassOfPrefix(t.Prefix)
			if !ok || class.Retention == retention.Forever || !in.Owned || in.Hold != "" || !in.Retired.IsZero() {
				continue
			}
			cutoff := deletedUntil(&s.Policy, s.ExpireGrace, class.Retention, now)
			gone := Load{}
			for len(list) > 0 && list[0].from.Before(cutoff) {
				gone = gone.plus(list[0].cut(cutoff))
				if list[0].from.Before(list[0].to) {
					break
				}
				list = list[1:]
			}
			s.arrivals[t] = list
			s.load[t], s.stored = s.load[t].plus(gone.scaled(-1)), s.stored.plus(gone.scaled(-1))
		}
	}
	s.month(now.Add(-1)).Stored = s.stored
}

// cut removes and returns the load that arrived before a time.
func (a *arrival) cut(at time.Time) Load {
	at = earlierOf(at, a.to)
	gone := a.load.scaled(float64(at.Sub(a.from)) / float64(a.to.Sub(a.from)))
	a.from, a.load = at, a.load.plus(gone.scaled(-1))
	return gone
}

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
