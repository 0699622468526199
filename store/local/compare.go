package local

import (
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// searchChunk sets the verdict on a reading that a chunk has. It compares values only for a reading
// with an own id.
func (l *lookup) searchChunk(c *chunk.Chunk) {
	if l.inChunk.Outcome != 0 {
		return
	}
	i, found := findPosition(c, l.reading.Position())
	switch {
	case !found:
	case !l.ownID:
		l.inChunk = varve.Verdict{Outcome: varve.Duplicate}
	default:
		var stored varve.Reading
		_ = c.Fill(i, &stored, new(chunk.Arena)) // a decoded chunk, so it cannot fail
		l.inChunk = store.Repeat(l.reading, &stored)
	}
}

// compareMet sets the verdicts on readings with own ids whose identity is in a series buffer.
func (w *pendingWrite) compareMet() error {
	var arena chunk.Arena
	for _, m := range w.met {
		var stored varve.Reading
		if err := m.stored.Fill(0, &stored, &arena); err != nil {
			return fmt.Errorf("compare a reading with the stored one: %w", err)
		}
		*m.verdict = store.Repeat(m.reading, &stored)
	}
	return nil
}
