package journal

// group is a set of frames that are written and synced together.
type group struct {
	segment *segment
	buf     []byte
	last    bool // whether the group ends its segment
	commit  *Commit
}

const (
	// maxSpares limits the buffers that are reused for later groups. While one group is written, the
	// next one collects frames.
	maxSpares = 2
	// maxSpareBytes limits the size of such a buffer.
	maxSpareBytes = 4 << 20
)

// takeSpare returns the empty buffer of a written group, or nil. The caller has locked mu.
func (w *Writer) takeSpare() []byte {
	last := len(w.spares) - 1
	if last < 0 {
		return nil
	}
	buf := w.spares[last]
	w.spares = w.spares[:last]
	return buf[:0]
}
