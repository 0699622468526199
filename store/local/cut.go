package local

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/store/local/chunk"
)

// chunkBytes limits the uncompressed size of a chunk, even if it has fewer readings than
// Options.ChunkReadings.
const chunkBytes = 128 << 10

// forced is the factor by which a chunk may exceed its target before readings of one event time
// are split.
const forced = 4

// cutter splits the readings of a series into chunks, and adds them to a batch.
type cutter struct {
	s       *Store
	pace    *lanes.Pace
	batch   *pebble.Batch
	space   []byte
	level   byte
	target  int
	builder chunk.Builder
	first   int64
	last    int64
	chunks  int
	bytes   int64 // of all runs
	key     []byte
	data    []byte
}

// restEvery is the number of readings between two calls of lanes.Pace.Rest.
const restEvery = 64

func newCutter(s *Store, batch *pebble.Batch) cutter {
	return cutter{s: s, pace: s.lanes.Pace(), batch: batch}
}

// begin starts a run.
func (c *cutter) begin(space []byte, level byte, target int) {
	c.space, c.level, c.target, c.chunks = space, level, target, 0
	c.builder.Reset()
}

// add adds the next reading of the run. It keeps readings of one event time in one chunk if
// possible, so that chunks of level 1 rarely share event times.
func (c *cutter) add(r *varve.Reading, derived bool) error {
	at := r.Time.UnixNano()
	n := c.builder.Len()
	full := n >= c.target || c.builder.Bytes() >= chunkBytes
	if n > 0 && (full && at != c.last || n >= forced*c.target || c.builder.Bytes() >= forced*chunkBytes) {
		if err := c.cut(); err != nil {
			return err
		}
	}
	if c.builder.Len() == 0 {
		c.first = at
	}
	c.last = at
	c.builder.Add(r, derived)
	return nil
}

// cut ends the current chunk. The caller calls it at the end of a run.
func (c *cutter) cut() error {
	if c.builder.Len() == 0 {
		return nil
	}
	c.key = appendChunkKey(c.key[:0], c.space, c.level, c.first, c.s.nextChunk.Add(1))
	c.data = c.builder.AppendTo(c.data[:0])
	c.builder.Reset()
	c.chunks++
	c.bytes += int64(len(c.key) + len(c.data))
	return c.batch.Set(c.key, c.data, nil)
}
