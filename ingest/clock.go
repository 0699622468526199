package ingest

import (
	"context"

	"github.com/varvedb/varve"
)

// writeReadings stores the readings of the batch. In streams with corrected clocks, it corrects readings
// whose time is in the future.
func (s *Session) writeReadings(ctx context.Context) error {
	clocks := s.in.opts.Clocks
	if clocks == nil {
		return s.request.Write(ctx, s.batch.Readings, s.batch.Verdicts)
	}
	repeats, versions := s.findRepeats(ctx)
	if err := s.request.Write(ctx, s.batch.Readings, s.batch.Verdicts); err != nil {
		return err
	}
	for at, v := range repeats {
		s.batch.Verdicts[at] = v
	}
	return s.correctReadings(ctx, versions)
}

// corrections has corrected readings, with their indexes in the batch.
type corrections struct {
	readings []varve.Reading
	places   []int
}

func (c *corrections) add(r *varve.Reading, at int) {
	c.readings, c.places = append(c.readings, *r), append(c.places, at)
}

// withheld is the temporary verdict that excludes a repeated reading from the write.
var withheld = varve.Reject(varve.CodeUnavailable, "the reading is being compared with a corrected one")

// findRepeats returns the verdicts on readings that were already sent and corrected, by their index in the
// batch. It also returns further versions of such readings, with their corrected time. It withholds both
// from the write, so that they are not written under their sent time. The caller sets their verdicts
// after the write. If a lookup fails, the verdict on the reading is retryable.
func (s *Session) findRepeats(ctx context.Context) (found map[int]varve.Verdict, versions corrections) {
	found = map[int]varve.Verdict{}
	for at := range s.batch.Readings {
		r := &s.batch.Readings[at]
		if s.batch.Verdicts[at].Outcome != 0 || !s.in.opts.Clocks.Corrects(r.Stream) {
			continue
		}
		version, v, err := s.in.opts.Clocks.Repeat(ctx, r)
		switch {
		case err != nil:
			found[at], s.batch.Verdicts[at] = varve.Reject(varve.CodeUnavailable, "%s", err), withheld
		case v.Outcome != 0:
			found[at], s.batch.Verdicts[at] = v, withheld
		case version != nil:
			s.batch.Verdicts[at] = withheld
			versions.add(version, at)
		}
	}
	return found, versions
}

// correctReadings corrects the readings that were rejected because their time is in the future. It
// stores them, and the given corrected readings.
func (s *Session) correctReadings(ctx context.Context, corrected corrections) error {
	clocks, arrived := s.in.opts.Clocks, s.request.Arrived()
	newest := map[varve.Series]int{} // index of the latest reading of each series, from which an offset may be learned
	var future []int
	for at := range s.batch.Readings {
		r := &s.batch.Readings[at]
		if s.batch.Verdicts[at].Code != varve.CodeTimeInFuture || !clocks.Corrects(r.Stream) || !r.Time.After(arrived) {
			continue
		}
		future = append(future, at)
		if old, ok := newest[r.Series]; !ok || s.batch.Readings[old].Time.Before(r.Time) {
			newest[r.Series] = at
		}
	}
	for _, at := range future {
		r := &s.batch.Readings[at]
		one, v, err := clocks.Correct(ctx, r, arrived, s.batch.Verdicts[at], newest[r.Series] == at)
		if err != nil {
			v = varve.Reject(varve.CodeUnavailable, "%s", err)
		}
		if s.batch.Verdicts[at] = v; v.Outcome == 0 {
			corrected.add(&one, at)
		}
	}
	if len(corrected.places) == 0 {
		return nil
	}
	verdicts := make([]varve.Verdict, len(corrected.places))
	if err := s.request.Write(ctx, corrected.readings, verdicts); err != nil {
		return err
	}
	for i, at := range corrected.places {
		s.batch.Verdicts[at] = verdicts[i]
	}
	return nil
}
