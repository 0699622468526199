package local

import (
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// lookInto sets the verdict on a reading that a chunk holds. It compares values only for a
// reading with an own id.
func (e *entry) lookInto(c *chunk.Chunk) {
	if e.inChunk.Outcome != 0 {
		return
	}
	i, found := find(c, e.reading.Position())
	switch {
	case !found:
	case !e.ownID:
		e.inChunk = varve.Verdict{Outcome: varve.Duplicate}
	default:
		var stored varve.Reading
		_ = c.Fill(i, &stored, new(chunk.Arena)) // a decoded chunk, so it cannot fail
		e.inChunk = store.Repeat(e.reading, &stored)
	}
}

// meet records the row in a series buffer with the identity of a reading with an own id. The
// caller holds the lock. The row can be read without it.
func (e *entry) meet(h *head, at spot) {
	if !e.ownID {
		return
	}
	r := &e.tail.runs[h.parity]
	e.seen = &view{
		series: e.tail.series, base: e.table.base(), shapes: h.shapes,
		rows: []row{r.blocks[at.block][at.i]}, data: r.data,
	}
}

// compareMet sets the verdicts on readings that were found in series buffers.
func (w *writer) compareMet() error {
	var arena chunk.Arena
	for _, e := range w.met {
		var stored varve.Reading
		if err := e.seen.Fill(0, &stored, &arena); err != nil {
			return fmt.Errorf("compare a reading with the stored one: %w", err)
		}
		*e.verdict = store.Repeat(e.reading, &stored)
	}
	return nil
}
