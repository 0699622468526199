package local

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
)

// chunkBytes is the size of readings, before packing, that a chunk is cut at
// even if it has fewer than Options.ChunkReadings.
const chunkBytes = 128 << 10

// forced is by how much a chunk may grow beyond its target before it is cut
// between readings of one event time.
const forced = 4

// cutter cuts a run of readings of one series into chunks and puts them into a
// batch.
type cutter struct {
	s       *Store
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

// begin begins a run.
func (c *cutter) begin(space []byte, level byte, target int) {
	c.space, c.level, c.target, c.chunks = space, level, target, 0
	c.builder.Reset()
}

// add adds the next reading of the run. Readings of one event time are kept in
// one chunk as far as possible, so that chunks of level 1 rarely touch.
func (c *cutter) add(r *varve.Reading) error {
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
	c.builder.Add(r)
	return nil
}

// cut ends the chunk; the last of a run is cut by the caller.
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
