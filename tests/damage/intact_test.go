package damage_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
)

// intact is the undamaged store of a world.
type intact struct {
	*world
	from    string
	program string              // path of the program varve
	tables  []string            // table files that Pebble uses; a kill may leave further files
	journal map[uint64]*segment // segments by number
	last    uint64              // number of the last segment with frames
}

// newIntact reads the files of the undamaged store of a world.
func newIntact(t *testing.T, w *world, dir string) *intact {
	t.Helper()
	in := &intact{world: w, from: dir, tables: liveTables(t, copied(t, dir))}
	in.readJournal(t)
	return in
}

// liveTables returns the table files that Pebble uses in the store of a folder.
func liveTables(t *testing.T, dir string) (names []string) {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{ReadOnly: true, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	levels, err := db.SSTables()
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, list := range levels {
		for _, one := range list {
			names = append(names, filepath.Join("pebble", one.BackingSSTNum.String()+".sst"))
		}
	}
	return names
}

// quiet is a logger of Pebble that drops information messages.
type quiet struct{ testing.TB }

func (quiet) Infof(string, ...any) {}

// changedTables returns the tables of Pebble that are missing or changed in a damaged copy.
func (in *intact) changedTables(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, name := range in.tables {
		was, err := os.ReadFile(filepath.Join(in.from, name))
		if err != nil {
			t.Fatal(err)
		}
		is, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err != nil || !bytes.Equal(was, is) {
			names = append(names, name)
		}
	}
	return names
}

// segment has the readings and items in one segment of an undamaged journal. The values are the
// offsets at which their frames end in the segment's file.
type segment struct {
	readings map[readingKey]int64
	items    map[store.Key]int64
}

// Sizes of the headers in a segment file: see package journal.
const (
	segmentHeader = 44
	frameHeader   = 25
)

// readingKey identifies a reading within a world.
type readingKey struct {
	device string
	time   int64
}

func keyOf(r *varve.Reading) readingKey { return readingKey{r.Device, r.Time.UnixNano()} }

// readJournal reads the segments of the journal. Their frames of readings must be the last writes of
// world.fill, in the same order.
func (in *intact) readJournal(t *testing.T) {
	t.Helper()
	var frames []journal.Frame
	src := journal.Source{FS: vfs.Default, Dir: filepath.Join(in.from, "journal")}
	rep, err := src.Replay(func(f journal.Frame) error {
		f.Payload = bytes.Clone(f.Payload)
		frames = append(frames, f)
		return nil
	})
	if err != nil || rep.Frames() != len(frames) || len(rep.Torn) > 0 {
		t.Fatalf("the journal of an undamaged store: %d frames, %+v, %v", len(frames), rep, err)
	}
	writes := in.writes()
	for i := range rep.Segments {
		writes = writes[:max(0, len(writes)-rep.Segments[i].Readings)]
	}
	writes = in.writes()[len(writes):]
	in.journal = map[uint64]*segment{}
	for i := range rep.Segments {
		s := &segment{map[readingKey]int64{}, map[store.Key]int64{}}
		in.journal[rep.Segments[i].Number] = s
		n := rep.Segments[i].Readings + rep.Segments[i].Batches
		if n > 0 {
			in.last = rep.Segments[i].Number
		}
		end := int64(segmentHeader)
		for _, f := range frames[:n] {
			end += frameHeader + int64(len(f.Payload))
			if f.Kind == journal.Batch {
				in.addItems(s, f.Payload, end)
				continue
			}
			if len(writes) == 0 || !bytes.Contains(f.Payload, []byte(writes[0].Readings[0].Device)) {
				t.Fatal("the frames of the journal are not the writes of the world")
			}
			for i := range writes[0].Readings {
				s.readings[keyOf(&writes[0].Readings[i])] = end
			}
			writes = writes[1:]
		}
		// A frame that ends the segment may follow.
		if rest := segmentHeader + rep.Segments[i].Bytes - end; rest != 0 && rest != frameHeader {
			t.Fatalf("the frames of segment %d end at %d, which is not the end of %+v", rep.Segments[i].Number, end, rep.Segments[i])
		}
		frames = frames[n:]
	}
}

// addItems adds the items of a frame to s. The frame has item changes in its payload, and ends at
// the offset in the argument "end".
func (w *world) addItems(s *segment, payload []byte, end int64) {
	for i := range w.items {
		key := w.item(i).Key
		if bytes.Contains(payload, []byte(key.SK)) && bytes.Contains(payload, []byte(key.PK)) {
			s.items[key] = end
		}
	}
}
