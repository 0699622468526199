package local

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/store/local/chunk"
)

// chunkBytes is the uncompressed size at which a chunk ends, even if it has fewer readings than
// Options.ChunkReadings.
const chunkBytes = 128 << 10

// splitFactor is the factor by which a chunk may exceed its target, before readings of one event
// time are split between chunks.
const splitFactor = 4

// chunkWriter splits sorted readings of a series into chunks, and adds them to a batch.
type chunkWriter struct {
	catalog *catalog
	pace    *lanes.Pace
	batch   *pebble.Batch
	prefix  []byte
	level   byte
	target  int
	builder chunk.Builder
	first   int64
	last    int64
	chunks  int
	bytes   int64 // size of the keys and contents of all chunks
	key     []byte
	data    []byte
}

// restEvery is the number of readings between two calls of lanes.Pace.Rest.
const restEvery = 64

func newChunkWriter(c *catalog, batch *pebble.Batch) chunkWriter {
	return chunkWriter{catalog: c, pace: c.db.lanes.Pace(), batch: batch}
}

func (cw *chunkWriter) begin(space []byte, level byte, target int) {
	cw.prefix, cw.level, cw.target, cw.chunks = space, level, target, 0
	cw.builder.Reset()
}

// add adds the next reading of the series. It puts readings of one event time into one chunk if
// possible, so that chunks of level 1 rarely share event times.
func (cw *chunkWriter) add(r *varve.Reading, derived bool) error {
	at := r.Time.UnixNano()
	n := cw.builder.Len()
	full := n >= cw.target || cw.builder.Bytes() >= chunkBytes
	if n > 0 && (full && at != cw.last || n >= splitFactor*cw.target || cw.builder.Bytes() >= splitFactor*chunkBytes) {
		if err := cw.endChunk(); err != nil {
			return err
		}
	}
	if cw.builder.Len() == 0 {
		cw.first = at
	}
	cw.last = at
	cw.builder.Add(r, derived)
	return nil
}

// endChunk ends the current chunk. The caller calls it at the end of a series.
func (cw *chunkWriter) endChunk() error {
	if cw.builder.Len() == 0 {
		return nil
	}
	cw.key = appendChunkKey(cw.key[:0], cw.prefix, cw.level, cw.first, cw.catalog.lastChunk.Add(1))
	cw.data = cw.builder.AppendTo(cw.data[:0])
	cw.builder.Reset()
	cw.chunks++
	cw.bytes += int64(len(cw.key) + len(cw.data))
	return cw.batch.Set(cw.key, cw.data, nil)
}
