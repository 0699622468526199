package local

import (
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
)

// chunkRun is a list of disjoint chunks in order.
type chunkRun []*chunk.Chunk

// runsOf divides chunks of one level into few runs. The chunks must be in the order of their keys. Chunks of
// level 1 are one run, unless merged chunks have reappeared after damage. The chunks of a flush are one
// run, too.
//
// One cursor reads a run. With a cursor for each chunk, a merge would compare each reading of an event time
// with all chunks of this time.
func runsOf(chunks []*chunk.Chunk) (runs []chunkRun) {
	for _, c := range chunks {
		i := slices.IndexFunc(runs, func(run chunkRun) bool { return endsBefore(run[len(run)-1], c) })
		if i < 0 {
			runs = append(runs, chunkRun{c})
		} else {
			runs[i] = append(runs[i], c)
		}
	}
	return runs
}

// endsBefore reports whether the last position of chunk a is before the first position of chunk b.
func endsBefore(a, b *chunk.Chunk) bool {
	if a.MaxTime != b.MinTime {
		return a.MaxTime < b.MinTime
	}
	last := a.Len() - 1
	return comparePosition(b, 0, varve.Position{Time: a.Time(last), ID: a.ID(last)}) > 0
}

func (run chunkRun) cursor(sp *span) cursor {
	return cursor{span: sp, more: func() (rows, error) {
		if len(run) == 0 {
			return nil, nil
		}
		c := run[0]
		run = run[1:]
		return c, nil
	}}
}
