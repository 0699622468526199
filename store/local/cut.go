package local

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
)

// Sizes of chunks.
const (
	chunkReadings = 1024     // aimed at
	chunkForced   = 4 * 1024 // cut even between readings of one event time
	chunkBytes    = 128 << 10
	// mainReadings is from how many readings on a chunk may go to level 1 as
	// it is.
	mainReadings = 256
)

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
	if n > 0 && (full && at != c.last || n >= chunkForced || c.builder.Bytes() >= 4*chunkBytes) {
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
