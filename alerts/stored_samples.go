package alerts

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

type storedSamples struct {
	rule *Rule
	kind readingKind
	read func(w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error
	// last has the newest readings of the series, sorted by position. The method "from" reads only older
	// readings from the tables. If "last" is empty, it reads all from the tables. See newestSamples.
	last []*varve.Reading
	// end is the position of the newest sample; nil if the method "from" has not reached it.
	end *varve.Position
}

// samplesOf returns the samples of a series for a rule whose kind is a readingKind.
func samplesOf(ctx context.Context, src Source, rule *Rule, s varve.Series) *storedSamples {
	return &storedSamples{rule: rule, kind: rule.byReadings(), read: func(w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error {
		return src.Read(ctx, s, w, o, yield)
	}}
}

func (s *storedSamples) within(w varve.Window, o varve.Order, yield func(*sample) bool) error {
	var one sample
	return s.read(w, o, func(r *varve.Reading) bool {
		return !s.kind.sample(s.rule, r, &one) || yield(&one)
	})
}

func (s *storedSamples) before(p varve.Position, yield func(*sample) bool) error {
	w := varve.Window{From: varve.AllTime().From, To: time.Unix(0, p.Time+1)}
	return s.within(w, varve.Descending, func(one *sample) bool { return one.at.Compare(p) >= 0 || yield(one) })
}

func (s *storedSamples) from(p varve.Position, yield func(*sample) bool) error {
	end, more := p, true
	each := func(one *sample) bool {
		if one.at.Compare(p) >= 0 {
			end, more = one.at, yield(one)
		}
		return more
	}
	if err := s.readFrom(p, each); err != nil || !more {
		return err
	}
	var one sample
	for _, r := range s.last {
		if s.kind.sample(s.rule, r, &one) && !each(&one) {
			return nil
		}
	}
	s.end = &end
	return nil
}

// readFrom reads the samples at the time of a position and later, up to the first reading of s.last.
func (s *storedSamples) readFrom(p varve.Position, yield func(*sample) bool) error {
	w := varve.Window{From: time.Unix(0, p.Time), To: varve.AllTime().To}
	if len(s.last) == 0 {
		return s.within(w, varve.Ascending, yield)
	}
	first := positionOf(s.last[0])
	if p.Compare(first) >= 0 {
		return nil
	}
	w.To = time.Unix(0, first.Time+1)
	return s.within(w, varve.Ascending, func(one *sample) bool { return one.at.Compare(first) < 0 && yield(one) })
}
