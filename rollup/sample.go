package rollup

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Sample is a random choice of hours of series, as they are read one after the
// other. The same seed chooses the same hours of the same data.
type Sample struct {
	rng  *rand.Rand
	most int
	seen int
	last place
	list []place
}

type place struct {
	series varve.Series
	hour   int64
}

// NewSample returns a sample of so many hours at most.
func NewSample(most int, seed uint64) *Sample {
	return &Sample{rng: rand.New(rand.NewPCG(seed, 0)), most: most}
}

// Add offers the hour of a reading. Those of one hour come one after the other.
func (s *Sample) Add(series varve.Series, at time.Time) {
	p := place{series, hourOf(at.Unix())}
	if s.most == 0 || s.seen > 0 && p == s.last {
		return
	}
	s.last = p
	s.seen++
	if len(s.list) < s.most {
		s.list = append(s.list, p)
	} else if i := s.rng.IntN(s.seen); i < s.most {
		s.list[i] = p
	}
}

// Sampled is how many hours of a sample had which outcome.
type Sampled map[Outcome]int

// Check checks the hours of the sample. Alive is as for [Reader.Check].
func (s *Sample) Check(
	ctx context.Context, r *Reader, alive func(context.Context, varve.Series, time.Time) (bool, error), report func(Difference),
) (Sampled, error) {
	done := Sampled{}
	checked := map[place]bool{}
	for _, p := range s.list {
		if checked[p] {
			continue // its readings lie in several tables
		}
		checked[p] = true
		at := Hourly.start(p.hour)
		is, err := alive(ctx, p.series, at)
		if err != nil {
			return done, err
		}
		outcome, err := r.Check(ctx, p.series, at, is, report)
		if err != nil {
			return done, err
		}
		done[outcome]++
	}
	return done, nil
}

// Hours calls each with the hours of a series that have partials, in order.
func Hours(ctx context.Context, items store.Items, s varve.Series, each func(time.Time)) error {
	r := records{items: items}
	all := allDays()
	q := store.ItemQuery{PK: pkOf(s), From: hourFrom(all.from * dayHours), To: hourFrom(all.to * dayHours)}
	return r.each(ctx, q, func(it *store.Item) error {
		at, part, err := parseKey(it.SK)
		if err == nil && part == 0 {
			each(Hourly.start(at.hour))
		}
		return err
	})
}
