package alerts

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

// storedSamples implements samples by stored readings.
type storedSamples struct {
	rule *Rule
	kind readingKind
	read func(w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error
}

// samplesOf returns the samples of a series under a rule that is evaluated by readings.
func samplesOf(ctx context.Context, src Source, rule *Rule, s varve.Series) *storedSamples {
	return &storedSamples{rule: rule, kind: rule.byReadings(), read: func(w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error {
		return src.Read(ctx, s, w, o, yield)
	}}
}

// within yields the samples in a window.
func (s *storedSamples) within(w varve.Window, o varve.Order, yield func(sample) bool) error {
	return s.read(w, o, func(r *varve.Reading) bool {
		one, counts := s.kind.sample(s.rule, r)
		return !counts || yield(one)
	})
}

func (s *storedSamples) before(p varve.Position, yield func(sample) bool) error {
	w := varve.Window{From: varve.AllTime().From, To: time.Unix(0, p.Time+1)}
	return s.within(w, varve.Descending, func(one sample) bool { return one.at.Compare(p) >= 0 || yield(one) })
}

func (s *storedSamples) from(p varve.Position, yield func(sample) bool) error {
	w := varve.Window{From: time.Unix(0, p.Time), To: varve.AllTime().To}
	return s.within(w, varve.Ascending, func(one sample) bool { return one.at.Compare(p) < 0 || yield(one) })
}
