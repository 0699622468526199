package journal

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve/store/local/meta"
)

// Source is a journal to be read.
type Source struct {
	FS  vfs.FS
	Dir string
	// Store is the id of the store to which the journal must belong. If zero, any store is
	// accepted.
	Store meta.ID
	// After is the number of the last segment that is not read, because Pebble has its data.
	After uint64
	// Unchained permits a journal without a chain.
	//
	// The journal may be of format 1, or of a store whose creation was interrupted.
	Unchained bool
	// Salvage continues after damage with the next intact frame.
	Salvage bool
}

// Check reads a whole journal without changing it, and reports all damage.
func Check(fs vfs.FS, dir string) (Report, error) {
	return Source{FS: fs, Dir: dir, Salvage: true}.Replay(func(Frame) error { return nil })
}

// Replay calls the function "do" for each frame in the segments after Source.After, in order.
//
// It fails with the first error that "do" returns. At the first problem it fails with ErrDamaged, unless
// Salvage is set. Payloads must not be retained. The last segment may end in an interrupted write.
// So a new segment must be begun before the next append, because frames after a broken one would
// count as damage.
func (src Source) Replay(do func(Frame) error) (Report, error) {
	r := replay{Source: src, do: do}
	err := r.readSegments()
	return r.rep, err
}

type replay struct {
	Source
	do    func(Frame) error
	rep   Report
	last  uint64 // highest segment number among the names of files
	begun uint64 // the last segment with a durable header
	// tail is the problem that an earlier segment lacks its end. It is reported only if a later
	// segment has frames.
	tail *Problem
}

func (r *replay) readSegments() error {
	chain, notes, problems, err := ReadChain(r.FS, r.Dir)
	if err != nil {
		return err
	}
	r.rep.Notes = notes
	chained := len(problems) == 0
	if !chained && !r.Unchained {
		for _, p := range problems {
			if err := r.found(p); err != nil {
				return err
			}
		}
	}
	if chained {
		if err := r.checkChain(chain); err != nil {
			return err
		}
	}
	files, err := r.files()
	if err != nil {
		return err
	}
	if !chained && len(files) > 0 {
		chain = Chain{Store: r.Store, First: max(files[0].number, r.After+1), Last: files[len(files)-1].number}
	}
	r.rep.Store, r.rep.First, r.rep.Last = chain.Store, chain.First, max(chain.Last, r.last)
	r.begun = chain.Last
	if !chained && r.Unchained {
		r.begun = 0
	}
	return r.segments(files, max(chain.First, r.After+1), chain.Last)
}

// checkChain compares the store of the chain with the expected one. If any store is accepted, the segments
// must then belong to the store of the chain.
func (r *replay) checkChain(c Chain) error {
	if r.Store.IsZero() {
		r.Store = c.Store
	}
	if c.Store != r.Store {
		return r.found(Problem{File: "journal", Text: fmt.Sprintf("is of store %s, not of %s", c.Store, r.Store)})
	}
	return nil
}

// segments replays the segments that the chain lists, from "first" to "last". It also replays all later
// segments that exist, and reports missing segments.
func (r *replay) segments(files []file, first, last uint64) error {
	want := first
	for _, f := range files {
		if f.number < first {
			continue // the readings and changes of the segment are in Pebble, and its file is about to be removed
		}
		if err := r.missing(want, f.number); err != nil {
			return err
		}
		want = f.number + 1
		if err := r.segment(f); err != nil {
			return err
		}
	}
	if err := r.missing(want, last+1); err != nil {
		return err
	}
	return nil
}

// missing reports each segment n with from <= n < to as missing.
func (r *replay) missing(from, to uint64) error {
	for n := from; n < to; n++ {
		if err := r.found(Problem{Segment: n, File: fileName(n), Text: "is missing"}); err != nil {
			return err
		}
	}
	return nil
}

// found records a problem. It returns an error unless Salvage is set.
func (r *replay) found(p Problem) error {
	r.rep.Problems = append(r.rep.Problems, p)
	if r.Salvage {
		return nil
	}
	return fmt.Errorf("%s: %w", p, ErrDamaged)
}

// file is a segment on disk, with its parsed header.
type file struct {
	number   uint64 // from its header, or from its name if the header is damaged
	name     string
	encoding encoding
	header   header
	whole    bool // whether the header is intact
}

// files returns the segments that are still needed, in the order of their numbers.
func (r *replay) files() ([]file, error) {
	numbers, err := segments(r.FS, r.Dir)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, n := range numbers {
		f, err := r.file(n)
		if err != nil {
			return nil, err
		}
		r.last = max(r.last, n)
		if f.number <= r.After {
			continue
		}
		if f.whole && f.number != n {
			err := r.found(Problem{Segment: n, File: f.name, Text: fmt.Sprintf("is segment %d: files were swapped", f.number)})
			if err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	slices.SortStableFunc(files, func(a, b file) int { return int(a.number) - int(b.number) })
	return files, nil
}

func (r *replay) file(number uint64) (f file, err error) {
	f = file{number: number, name: fileName(number)}
	head, err := readStart(r.FS, r.FS.PathJoin(r.Dir, f.name), headerBytes)
	if err != nil {
		return f, err
	}
	if f.header, f.encoding, f.whole = parseHeader(head); f.whole {
		f.number = f.header.number
		return f, nil
	}
	f.encoding = encodingOf(r.Store, number)
	if r.Unchained {
		f.encoding = encodingOf1(number)
	}
	return f, nil
}
