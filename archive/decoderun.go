package archive

import (
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/internal/turns"
)

// decodedBytes bounds the decoded row groups of one read, and the decoded row groups that one query retains for its
// other tables. Texts may be a hundred times as large decoded as in the file. One row group is always decoded.
const decodedBytes = 64 << 20

// decodedRun has the decoded row groups of a run.
type decodedRun struct {
	run
	blocks []*block.Block // one per row group in the order of the file; nil if a row group lacks the series
	bytes  []int64        // assumed memory of each row group
}

// decodeRun reads row groups, and decodes the readings of the series. If the decoded row groups would exceed the
// limit, the result lacks the last ones in the order of the range. They need another read.
func (s *SeriesReader) decodeRun(ctx context.Context, r run) (d decodedRun, err error) {
	known, release, err := s.fetchInTurn(ctx, r)
	if err != nil {
		return d, err
	}
	defer release()
	rd, err := parquetfile.OpenRanges(known)
	if err != nil {
		return d, contentError{err}
	}
	if r.last >= rd.Groups() {
		return d, contentError{fmt.Errorf("%s has %d row groups, want at least %d", r.file.Name, rd.Groups(), r.last+1)}
	}
	r, size := s.limitRun(rd, r)
	if size = min(size, fetchedBytes); s.reader.decoding.Acquire(ctx, size) != nil {
		return d, context.Cause(ctx)
	}
	defer s.reader.decoding.Release(size)
	d.run = r
	for i := r.first; i <= r.last; i++ {
		b, err := rd.ReadSeries(i, s.rng.Series)
		if err != nil {
			return d, contentError{err}
		}
		d.blocks, d.bytes = append(d.blocks, b), append(d.bytes, rd.GroupBytes(i))
	}
	return d, nil
}

// fetchInTurn fetches row groups as soon as the limit of fetched bytes permits. Meanwhile, other requests get the
// slot of this one. The function "release" ends the use of the row groups.
func (s *SeriesReader) fetchInTurn(ctx context.Context, r run) (known *parquetfile.Ranges, release func(), err error) {
	weight := min(r.body().Size+r.file.Footer.Size, fetchedBytes)
	release = func() { s.reader.fetching.Release(weight) }
	err = turns.Pause(ctx, func() (err error) {
		if s.reader.fetching.Acquire(ctx, weight) != nil {
			release = func() {}
			return context.Cause(ctx)
		}
		known, err = s.fetchRun(ctx, r)
		return err
	})
	if err != nil {
		release()
	}
	return known, release, err
}

// limitRun returns the first row groups of a run in the order of the range, as many as the limit of decoded bytes
// permits, and their assumed memory.
func (s *SeriesReader) limitRun(rd *parquetfile.Reader, r run) (within run, size int64) {
	step, at, end := 1, r.first, r.last
	if s.rng.Order == varve.Descending {
		step, at, end = -1, r.last, r.first
	}
	within, size = run{r.file, at, at}, rd.GroupBytes(at)
	for at != end {
		at += step
		more := rd.GroupBytes(at)
		if size+more > s.reader.decodedBytes {
			break
		}
		within.first, within.last, size = min(within.first, at), max(within.last, at), size+more
	}
	return within, size
}
