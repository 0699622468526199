package fleet

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

// Watch takes in that readings arrived and are stored, all but those with a
// rejecting verdict.
func (f *Fleet) Watch(_ context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) error {
	f.seen.note(arrived, readings, verdicts)
	return nil
}
