package journal

import (
	"fmt"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/meta"
)

// ErrDamaged is the error of a journal that lacks frames which had been
// durable.
var ErrDamaged = store.ErrDamaged

// Problem is damage to a journal.
type Problem struct {
	Segment  uint64 // 0: the damage is not to a segment
	File     string // its name in the journal's folder, or of a folder of the store
	From, To int64  // the bytes of the file that do not check; 0 and 0: all of it
	Text     string // what is wrong with it: "is missing"
}

func (p Problem) String() string {
	if p.To > p.From {
		return fmt.Sprintf("%s: bytes %d to %d: %s", p.File, p.From, p.To-1, p.Text)
	}
	return p.File + " " + p.Text
}

// Torn is the end of a journal that does not check: a write that a crash cut
// short, or acknowledged frames that were damaged.
type Torn struct {
	Segment uint64
	File    string
	At      int64 // where it begins
	Bytes   int64
	Frames  int // of them that are whole by their length
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

// SegmentReport is what was found in one segment.
type SegmentReport struct {
	Number   uint64
	File     string
	Bytes    int64 // of frames that check
	Readings int   // frames with readings that check
	Batches  int   // frames with changes that check
}

// Report is what was found in a journal.
type Report struct {
	Store       meta.ID
	First, Last uint64 // segments; Last also if it was not replayed
	Segments    []SegmentReport
	Torn        []Torn    // ends of the journal that a crash may have left
	Notes       []Problem // damage by which nothing is lost
	Problems    []Problem // damage by which something may be lost
}

// Frames returns the number of frames that check.
func (r *Report) Frames() (n int) {
	for _, s := range r.Segments {
		n += s.Readings + s.Batches
	}
	return n
}
