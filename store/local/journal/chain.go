package journal

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve/store/local/meta"
)

// Chain lists the segments that a journal must have.
type Chain struct {
	Store       meta.ID
	Generation  uint64 // increases by one with each change
	First, Last uint64 // the first and the last segment that were created durably and not removed since
}

const chainFormat = "varve journal chain 1\nstore %s\ngeneration %d\nfirst %d\nlast %d\n"

func (c Chain) text() string {
	return meta.Seal(fmt.Sprintf(chainFormat, c.Store, c.Generation, c.First, c.Last))
}

func parseChain(sealed string) (c Chain, err error) {
	text, err := meta.Unseal(sealed)
	if err != nil {
		return c, err
	}
	var id string
	if _, err := fmt.Sscanf(text, chainFormat, &id, &c.Generation, &c.First, &c.Last); err != nil {
		return c, fmt.Errorf("not a chain: %w", err)
	}
	c.Store, err = meta.ParseID(id)
	return c, err
}

func chainFile(generation uint64) string { return fmt.Sprintf("CHAIN.%d", generation%2) }

// ReadChain returns the newest generation of a journal's chain.
//
// If both files are unusable, the chain is zero, and problems has the reasons. If one is unusable,
// notes has the reason, and the generation may be out of date by one.
func ReadChain(disk vfs.FS, dir string) (c Chain, notes, problems []Problem, err error) {
	found := 0
	for slot := range uint64(2) {
		name := chainFile(slot)
		text, err := meta.Read(disk, disk.PathJoin(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, nil, nil, fmt.Errorf("read %s: %w", name, err)
		}
		var read Chain
		why := "is missing"
		if err == nil {
			if read, err = parseChain(text); err != nil {
				why = "is damaged"
			}
		}
		if err != nil {
			problems = append(problems, Problem{File: name, Text: why})
			continue
		}
		found++
		if read.Generation > c.Generation {
			c = read
		}
	}
	if found > 0 {
		notes, problems = problems, nil
	}
	return c, notes, problems, nil
}

func (c Chain) write(disk vfs.FS, dir string) error {
	name := chainFile(c.Generation)
	if err := meta.Write(disk, disk.PathJoin(dir, name), c.text()); err != nil {
		return fmt.Errorf("write %s of the journal: %w", name, err)
	}
	return nil
}

// Lost returns the problem if Pebble and the journal do not fit together, or nil. Pebble has the
// data of the segments up to "flushed".
func (c Chain) Lost(flushed uint64) *Problem {
	switch {
	case c.First > flushed+1:
		return &Problem{Segment: c.First, File: "pebble", Text: fmt.Sprintf(
			"holds the journal up to segment %d, but held it up to segment %d before: it is older than the journal", flushed, c.First-1)}
	case c.Last <= flushed:
		return &Problem{Segment: c.Last, File: "journal", Text: fmt.Sprintf(
			"ends with segment %d, but segment %d was in Pebble before: it is older than pebble", c.Last, flushed)}
	}
	return nil
}
