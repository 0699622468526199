package alerts

import (
	"context"
	"slices"
	"sync"

	"github.com/varvedb/varve"
)

// newestSamples remembers the position of the newest sample of each subject. If all samples of a
// write are newer, an evaluation uses the samples of the write, and reads only earlier ones from the
// store. A concurrent write may have stored samples in between. They are evaluated when that write is
// observed.
//
// This is correct only if no other process writes to the store. newestSamples is safe for concurrent
// use. The caller of apply holds the lock of the series.
type newestSamples struct {
	mu         sync.Mutex
	bySampling map[sampling]varve.Position
}

// sampling identifies the samples of a series for one generation of a rule.
type sampling struct {
	rule, generation string
	series           varve.Series
}

// maxSamplings bounds the remembered positions. Above this number, all of them are forgotten, and the next
// evaluation of each subject reads later samples from the store again.
const maxSamplings = 10_000

// apply runs an evaluation, and remembers the position of the newest sample of its subject. The
// argument "fresh" has the written readings, sorted by position; it is empty if some are not new.
func (n *newestSamples) apply(ctx context.Context, e *evaluation, fresh []*varve.Reading) error {
	if e.atomic == nil || len(e.writes) == 0 {
		return e.apply(ctx)
	}
	of := sampling{rule: e.rule.ID, generation: e.rule.generation, series: e.series}
	newest := e.writes[len(e.writes)-1].hi
	if before, known := n.get(of); known {
		n.put(of, newest) // before the evaluation, because the readings are stored even if it fails
		if len(fresh) > 0 && positionOf(fresh[0]).Compare(before) > 0 {
			e.samples.last = fresh
		}
		return e.apply(ctx)
	}
	err := e.apply(ctx)
	if end := e.samples.end; end != nil {
		if end.Compare(newest) > 0 {
			newest = *end
		}
		n.put(of, newest)
	}
	return err
}

func (n *newestSamples) get(of sampling) (p varve.Position, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p, known = n.bySampling[of]
	return p, known
}

// put remembers the position of the newest sample, unless a later position is known.
func (n *newestSamples) put(of sampling, p varve.Position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old, known := n.bySampling[of]
	if known && old.Compare(p) >= 0 {
		return
	}
	if n.bySampling == nil || !known && len(n.bySampling) >= maxSamplings {
		n.bySampling = map[sampling]varve.Position{}
	}
	n.bySampling[of] = p
}

// newReadings returns the readings at the given indexes, sorted by position, or nil if one of them
// was stored before or is a correction.
func newReadings(readings []varve.Reading, verdicts []varve.Verdict, index []int) []*varve.Reading {
	fresh := make([]*varve.Reading, 0, len(index))
	sorted := true
	for _, i := range index {
		r := &readings[i]
		if verdicts[i].Outcome != varve.Stored || r.ID.Version() > 0 {
			return nil
		}
		sorted = sorted && (len(fresh) == 0 || comparePositions(fresh[len(fresh)-1], r) < 0)
		fresh = append(fresh, r)
	}
	if !sorted {
		slices.SortFunc(fresh, comparePositions)
	}
	return fresh
}

func comparePositions(a, b *varve.Reading) int { return a.Position().Compare(b.Position()) }
