package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/varvedb/varve/store/local/meta"
)

func path(name string) string { return "j/" + name }

func content(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	data, err := readAll(fs, path(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func replace(t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fs.Create(path(name), category)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, fs vfs.FS, number uint64, data []byte) {
	t.Helper()
	replace(t, fs, fileName(number), data)
}

func remove(t *testing.T, fs vfs.FS, name string) {
	t.Helper()
	if err := fs.Remove(path(name)); err != nil {
		t.Fatal(err)
	}
}

// written returns a journal of segments 1 to 3, as a killed process leaves it. Each segment has three
// frames with payloads of four bytes: "1axx" to "3cxx".
func written(t *testing.T) vfs.FS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	w := open(t, fs, 1)
	if err := meta.SyncFolder(fs, ""); err != nil {
		t.Fatal(err)
	}
	for segment := 1; segment <= 3; segment++ {
		if segment > 1 {
			rotate(t, w)
		}
		for i := range 3 {
			if err := w.Append(Readings, fmt.Appendf(nil, "%d%cxx", segment, 'a'+i)).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return fs.CrashClone(vfs.CrashCloneCfg{})
}

const all9 = "[1axx 1bxx 1cxx 2axx 2bxx 2cxx 3axx 3bxx 3cxx]"

// frameAt returns the offset of frame i in any segment of the journal from the function "written".
func frameAt(i int) int { return headerBytes + i*(frameBytes+4) }

// journalDamage is one way to damage the journal from the function "written", and the expected results
// of Replay.
type journalDamage struct {
	reason  string
	harm    func(*testing.T, vfs.FS)
	problem string // a part of the error that Replay returns
	left    string // payloads of the frames that Replay returns with Salvage
}

// journalDamages returns kinds of damage to a journal that a crash cannot cause.
func journalDamages() []journalDamage {
	return []journalDamage{
		{"payload flipped in the last segment", flip(3, frameAt(0)+frameBytes), "0000000003.journal: bytes 44 to 72: a frame does not check", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx 3bxx 3cxx]"},
		{"length flipped", flip(3, frameAt(1)), "bytes 73 to 101: a frame does not check", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx 3axx 3cxx]"},
		{"frame before the end of an earlier segment flipped", flip(2, frameAt(2)+frameBytes), "0000000002.journal", "[1axx 1bxx 1cxx 2axx 2bxx 3axx 3bxx 3cxx]"},
		{"end frame of an earlier segment flipped", flip(1, frameAt(3)+5), "0000000001.journal: bytes 131 to 32840: the end is lost", all9},
		{"earlier segment cut between frames", cut(1, frameAt(2)), "the file is cut off", "[1axx 1bxx 2axx 2bxx 2cxx 3axx 3bxx 3cxx]"},
		{"last segment cut between frames", cut(3, frameAt(2)), "0000000003.journal: bytes 102 to", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx 3axx 3bxx]"},
		{"last segment cut in a frame", cut(3, frameAt(2)+7), "the file is cut off", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx 3axx 3bxx]"},
		{"last segment cut after its header", cut(3, headerBytes), "the file is cut off", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx]"},
		{"last segment emptied", cut(3, 0), "0000000003.journal is empty", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx]"},
		{"last segment zeroed", func(t *testing.T, fs vfs.FS) { put(t, fs, 3, make([]byte, fillBytes)) }, "is empty", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx]"},
		{"last segment missing", gone(fileName(3)), "0000000003.journal is missing", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx]"},
		{"middle segment missing", gone(fileName(2)), "0000000002.journal is missing", "[1axx 1bxx 1cxx 3axx 3bxx 3cxx]"},
		{"first segment missing", gone(fileName(1)), "0000000001.journal is missing", "[2axx 2bxx 2cxx 3axx 3bxx 3cxx]"},
		{"magic of the header flipped", flip(3, 0), "the header does not check", all9},
		{"number in the header flipped", flip(2, 8), "the header does not check", all9},
		{"segments swapped", swap(1, 2), "files were swapped", all9},
		{"segment of another store", func(t *testing.T, fs vfs.FS) {
			put(t, fs, 3, header{number: 3, id: meta.ID{9}, length: 100}.bytes())
		}, "is of store 09", "[1axx 1bxx 1cxx 2axx 2bxx 2cxx]"},
		{"chain missing", gone("CHAIN.0", "CHAIN.1"), "CHAIN.0 is missing", all9},
		{"chain damaged", func(t *testing.T, fs vfs.FS) {
			replace(t, fs, "CHAIN.0", []byte("x"))
			replace(t, fs, "CHAIN.1", nil)
		}, "CHAIN.0 is damaged", all9},
	}
}

func flip(number uint64, at int) func(*testing.T, vfs.FS) {
	return func(t *testing.T, fs vfs.FS) {
		data := content(t, fs, fileName(number))
		data[at] ^= 0x10
		put(t, fs, number, data)
	}
}

func cut(number uint64, to int) func(*testing.T, vfs.FS) {
	return func(t *testing.T, fs vfs.FS) { put(t, fs, number, content(t, fs, fileName(number))[:to]) }
}

func gone(names ...string) func(*testing.T, vfs.FS) {
	return func(t *testing.T, fs vfs.FS) {
		for _, name := range names {
			remove(t, fs, name)
		}
	}
}

func swap(a, b uint64) func(*testing.T, vfs.FS) {
	return func(t *testing.T, fs vfs.FS) {
		one, two := content(t, fs, fileName(a)), content(t, fs, fileName(b))
		put(t, fs, a, two)
		put(t, fs, b, one)
	}
}

// TestReplay_FindsDamage damages a journal in ways that a crash cannot. Replay must fail, and Check must
// report the damage. With Source.Salvage, Replay must return the expected frames.
func TestReplay_FindsDamage(t *testing.T) {
	for _, c := range journalDamages() {
		t.Run(c.reason, func(t *testing.T) {
			fs := written(t)
			c.harm(t, fs)
			if _, _, err := frames(fs, 0); !errors.Is(err, ErrDamaged) || !strings.Contains(fmt.Sprint(err), c.problem) {
				t.Errorf("Replay: %v, want %q", err, c.problem)
			}
			got, rep, err := salvage(fs)
			if err != nil || fmt.Sprint(got) != c.left || len(rep.Problems) == 0 {
				t.Errorf("Salvage: %v, %v, %v; want %s", got, rep.Problems, err, c.left)
			}
			if rep, err := Check(fs, "j"); err != nil || len(rep.Problems) == 0 || rep.Frames() != len(got) {
				t.Errorf("Check: %+v, %v", rep, err)
			}
		})
	}
}

// TestReplay_CountsTornEnds checks that the traces of a crash at the end are discarded and counted,
// and that whole frames among them are reported.
func TestReplay_CountsTornEnds(t *testing.T) {
	cases := []struct {
		reason string
		harm   func(data []byte) []byte
		left   int
		torn   Torn
	}{
		{"whole", func(d []byte) []byte { return d }, 9, Torn{}},
		{"last frame flipped", func(d []byte) []byte { d[frameAt(3)-1] ^= 1; return d }, 8, Torn{At: int64(frameAt(2)), Bytes: frameBytes + 4, Frames: 1}},
		{"last frame half written", func(d []byte) []byte { clear(d[frameAt(2)+6:]); return d }, 8, Torn{At: int64(frameAt(2)), Bytes: 6}},
		{"beginning of another frame", func(d []byte) []byte { copy(d[frameAt(3):], "\x40\x00\x00\x00torn"); return d }, 9, Torn{At: int64(frameAt(3)), Bytes: 8}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			fs := written(t)
			put(t, fs, 3, c.harm(content(t, fs, fileName(3))))
			got, rep, err := frames(fs, 0)
			if err != nil || len(got) != c.left || len(rep.Problems) > 0 {
				t.Fatalf("%d frames, %v, %v; want %d", len(got), rep.Problems, err, c.left)
			}
			if c.torn.Bytes > 0 {
				c.torn.Segment, c.torn.File = 3, fileName(3)
				if len(rep.Torn) != 1 || rep.Torn[0] != c.torn {
					t.Errorf("torn: %+v, want %+v", rep.Torn, c.torn)
				}
			} else if len(rep.Torn) > 0 {
				t.Errorf("torn: %+v", rep.Torn)
			}
		})
	}
}

// TestChain_SurvivesItsNewestFile checks that one of the two files with the chain, which is the list of
// segments, suffices. The problem of the other file is reported.
func TestChain_SurvivesItsNewestFile(t *testing.T) {
	for slot := range uint64(2) {
		for _, harm := range []string{"missing", "damaged"} {
			fs := written(t)
			if name := chainFile(slot); harm == "missing" {
				remove(t, fs, name)
			} else {
				data := content(t, fs, name)
				data[30] ^= 1
				replace(t, fs, name, data)
			}
			got, rep, err := frames(fs, 0)
			if err != nil || fmt.Sprint(got) != all9 {
				t.Errorf("%s %s: %v, %v", chainFile(slot), harm, got, err)
			}
			if len(rep.Notes) != 1 || !strings.Contains(rep.Notes[0].String(), harm) {
				t.Errorf("%s %s: %v", chainFile(slot), harm, rep.Notes)
			}
		}
	}
}

// TestChain_ComparesWithPebble checks the problems that Lost reports. It must report one if
// segments between Pebble and the journal are missing, or if no segment of the journal follows
// those in Pebble.
func TestChain_ComparesWithPebble(t *testing.T) {
	c := Chain{First: 5, Last: 7}
	for flushed, bad := range map[uint64]bool{0: true, 3: true, 4: false, 6: false, 7: true, 8: true} {
		if p := c.Lost(flushed); (p != nil) != bad {
			t.Errorf("Pebble holds %d: %v", flushed, p)
		}
	}
}

// TestReplay_IgnoresPreparedSegment checks that the file of a segment that is not in the chain yet may
// be in any state.
func TestReplay_IgnoresPreparedSegment(t *testing.T) {
	for _, data := range [][]byte{nil, []byte("half a hea"), make([]byte, 100), header{number: 4, id: testID, length: fillBytes}.bytes()} {
		fs := written(t)
		put(t, fs, 4, data)
		got, rep, err := frames(fs, 0)
		if err != nil || fmt.Sprint(got) != all9 || len(rep.Torn) > 0 || rep.Last != 4 {
			t.Errorf("%q: %v, %+v, %v", data, got, rep, err)
		}
	}
}

// TestReplay_FindsCutAfterLargeGroup truncates a file at the end of a large group, after which the
// writer does not fill the file with zeros. Replay must find the damage.
func TestReplay_FindsCutAfterLargeGroup(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	large := bytes.Repeat([]byte{'x'}, fillBytes)
	end := int64(headerBytes)
	var ends []int64
	for range 4 {
		if err := w.Append(Readings, large).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		end += int64(frameBytes + len(large))
		ends = append(ends, end)
	}
	data := content(t, fs, fileName(1))
	for _, at := range ends[1:3] {
		put(t, fs, 1, data[:at])
		if _, _, err := frames(fs, 0); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut off at byte %d of %d: %v", at, end, err)
		}
	}
}

// TestPrepare_KeepsSegmentOfFailedChain makes Prepare fail after the chain was renamed, and its next call
// fail on a full disk. The segment, which the chain may list, must stay readable after a kill.
func TestPrepare_KeepsSegmentOfFailedChain(t *testing.T) {
	mem := vfs.NewCrashableMem()
	w := open(t, mem, 1)
	if err := w.Append(Readings, []byte("a")).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	renamed, full := false, false
	w.fs = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case op.Kind == errorfs.OpRename:
			renamed = true
		case op.Kind == errorfs.OpOpenDir && renamed && !full:
			full = true
			return syscall.EMFILE
		case op.Kind == errorfs.OpFileWriteAt && full:
			return syscall.ENOSPC
		}
		return nil
	}))
	if err := w.Prepare(); !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("the first call: %v, want EMFILE", err)
	}
	if err := w.Prepare(); err != nil {
		t.Errorf("the second call, which needs no file: %v", err)
	}
	after := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	payloads, _, err := frames(after, 0)
	if err != nil || len(payloads) != 1 {
		t.Errorf("after a kill, the journal has %q: %v", payloads, err)
	}
}
