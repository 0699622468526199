package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrDamaged means that frames that had been durable do not check any more.
var ErrDamaged = errors.New("the journal is damaged")

const suffix = ".journal"

func fileName(number uint64) string { return fmt.Sprintf("%010d%s", number, suffix) }

// segments lists the numbers of the segments in dir, in order. Files with
// other names are left alone.
func segments(fs vfs.FS, dir string) ([]uint64, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list journal: %w", err)
	}
	var numbers []uint64
	for _, name := range names {
		n, err := strconv.ParseUint(strings.TrimSuffix(name, suffix), 10, 64)
		if err == nil && fileName(n) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// Replayed is what Replay found.
type Replayed struct {
	Last   uint64 // the number of the last segment, whether replayed or not
	Frames int
	Torn   int64 // bytes of writes that were cut short, and not replayed
}

// Replay calls do with the payload of each frame in the segments after the
// given one, in order. It fails with ErrDamaged if acknowledged frames cannot
// be read, and with the first error of do. Payloads are not kept.
//
// The last segment may end in a write that was cut short. So what was replayed
// must be kept elsewhere, and the segments be removed, before a Writer is
// opened: behind one that begins another segment, the end would be damage.
func Replay(fs vfs.FS, dir string, after uint64, do func(payload []byte) error) (Replayed, error) {
	var rep Replayed
	numbers, err := segments(fs, dir)
	if err != nil {
		return rep, err
	}
	want := after + 1
	for _, n := range numbers {
		rep.Last = n
		if n <= after {
			continue
		}
		if n != want {
			return rep, fmt.Errorf("journal segment %s is missing: %w", fs.PathJoin(dir, fileName(want)), ErrDamaged)
		}
		want++
		torn := rep.Torn
		frames := rep.Frames
		if err := rep.segment(fs, dir, n, do); err != nil {
			return rep, fmt.Errorf("journal segment %s: %w", fs.PathJoin(dir, fileName(n)), err)
		}
		if torn > 0 && rep.Frames > frames {
			// The next segment is written only when this one is durable; and one
			// that a crash left is never followed by another: see the caller.
			return rep, fmt.Errorf("journal segment before %s ends early: %w", fileName(n), ErrDamaged)
		}
	}
	return rep, nil
}

func (rep *Replayed) segment(fs vfs.FS, dir string, number uint64, do func([]byte) error) error {
	data, err := readAll(fs, fs.PathJoin(dir, fileName(number)))
	if err != nil {
		return err
	}
	if len(data) < headerBytes || string(data[:headerBytes]) != string(appendHeader(nil, number)) {
		// The file was being made: nothing in it was acknowledged.
		if at := lastSynced(data, number); at > 0 {
			return fmt.Errorf("its header does not check: %w", ErrDamaged)
		}
		rep.Torn += int64(len(data))
		return nil
	}
	at := headerBytes
	for at < len(data) {
		payload, _, ok := parseFrame(data[at:], number)
		if !ok {
			if data = bytes.TrimRight(data, "\x00"); len(data) <= at {
				return nil // zeros that were to be overwritten
			}
			if lastSynced(data[at:], number) > int64(at) {
				return fmt.Errorf("the frame at byte %d does not check: %w", at, ErrDamaged)
			}
			rep.Torn += int64(len(data) - at)
			return nil
		}
		if err := do(payload); err != nil {
			return err
		}
		rep.Frames++
		at += frameBytes + len(payload)
	}
	return nil
}

// lastSynced looks for frames in what follows a frame that does not check, and
// returns how many bytes of the segment the last of them knew to be durable.
func lastSynced(data []byte, number uint64) int64 {
	var synced int64
	for at := 1; at+frameBytes <= len(data); at++ {
		// A quick look first: most bytes are not the beginning of a frame.
		if s := binary.LittleEndian.Uint64(data[at+8:]); s < headerBytes || s > maxSegment {
			continue
		}
		if payload, s, ok := parseFrame(data[at:], number); ok {
			synced = s
			at += frameBytes + len(payload) - 1
		}
	}
	return synced
}

// maxSegment is more than any segment's length.
const maxSegment = 1 << 40

func readAll(fs vfs.FS, name string) (data []byte, err error) {
	f, err := fs.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}
