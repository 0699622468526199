package journal

import (
	"fmt"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/meta"
)

// ErrDamaged means that a journal is damaged, so it may lack frames that had been durable.
var ErrDamaged = store.ErrDamaged

// Problem is damage to a journal.
type Problem struct {
	Segment  uint64 // number of the segment; 0 if the damage does not belong to one
	File     string // name of a file in the folder of the journal, or of a folder of the store
	From, To int64  // range of damaged bytes; 0 and 0 mean the whole file
	Text     string // the problem, such as "is missing"
}

func (p Problem) String() string {
	if p.To > p.From {
		return fmt.Sprintf("%s: bytes %d to %d: %s", p.File, p.From, p.To-1, p.Text)
	}
	return p.File + " " + p.Text
}

// Torn is a range of bytes near the end of a segment, in which the checksums fail.
//
// It is a write that a crash interrupted, or acknowledged frames that were damaged.
type Torn struct {
	Segment uint64
	File    string
	At      int64 // offset at which the damaged end begins
	Bytes   int64
	Frames  int // number of frames in the damaged end whose length is plausible
}

func (t Torn) String() string {
	frames := fmt.Sprintf("%d whole frames", t.Frames)
	switch t.Frames {
	case 0:
		return fmt.Sprintf("the last %d bytes of %s are a write that was cut short", t.Bytes, t.File)
	case 1:
		frames = "1 whole frame"
	}
	return fmt.Sprintf("the last %d bytes of %s do not check, %s among them: what they held may have been acknowledged", t.Bytes, t.File, frames)
}

// SegmentReport counts the frames of one segment.
type SegmentReport struct {
	Number   uint64
	File     string
	Bytes    int64 // number of bytes in intact frames
	Readings int   // number of intact frames with readings
	Batches  int   // number of intact frames with changes of items or tables
}

// Report is the result of reading a journal.
type Report struct {
	Store       meta.ID
	First, Last uint64 // first and last segment, even if they were not replayed
	Segments    []SegmentReport
	Torn        []Torn    // ends of the journal that fail their checksums, maybe because of a crash
	Notes       []Problem // damage without loss
	Problems    []Problem // damage with possible loss
}

// Frames returns the number of intact frames with readings or changes.
func (r *Report) Frames() (n int) {
	for _, s := range r.Segments {
		n += s.Readings + s.Batches
	}
	return n
}
