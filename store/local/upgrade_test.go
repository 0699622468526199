package local_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// unpackFormat1 unpacks a store of format 1 into the folder data/. The last version of Varve with that
// format wrote the store and was killed. The store contains:
//
//   - in Pebble: 50 readings of "flushed" and one item
//   - in the journal: 30 readings of "journaled" in one table, and 20 in another
//   - in Pebble's log: five items and a hold
func unpackFormat1(t *testing.T, fs vfs.FS) {
	t.Helper()
	f, err := os.Open("testdata/format1.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		unpack(t, fs, fs.PathJoin("data", strings.TrimPrefix(h.Name, "./")), h, r)
	}
	for _, dir := range []string{"data/journal", "data/pebble", "data", ""} {
		d, err := fs.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func unpack(t *testing.T, fs vfs.FS, path string, h *tar.Header, r io.Reader) {
	t.Helper()
	if h.Typeflag == tar.TypeDir {
		if err := fs.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	out, err := fs.Create(path, "test")
	if err == nil {
		_, err = io.Copy(out, r)
		err = errors.Join(err, out.Sync(), out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func checkFormat1(t *testing.T, s *local.Store) {
	t.Helper()
	want := []string{"flushed", "logged0", "logged1", "logged2", "logged3", "logged4"}
	if keys := itemsOf(t, s); !slices.Equal(keys, want) {
		t.Errorf("items %q, want %q", keys, want)
	}
	tb, other := week(t, 0), week(t, 1)
	for _, c := range []struct {
		in     grid.Table
		device string
		want   int
	}{{tb, "flushed", 50}, {tb, "journaled", 30}, {other, "journaled", 20}} {
		if n := len(all(t, s, c.in, c.device)); n != c.want {
			t.Errorf("%d readings of %s, want %d", n, c.device, c.want)
		}
	}
	infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: tb.Window()})
	if err != nil || len(infos) != 1 || infos[0].Readings != 80 {
		t.Errorf("%+v, %v; want a table with 80 readings", infos, err)
	}
	infos, err = s.Tables(t.Context(), store.Filter{Any: true, Window: other.Window()})
	if err != nil || len(infos) != 1 || infos[0].Hold != "kept" || infos[0].Readings != 20 {
		t.Errorf("%+v, %v; want a held table with 20 readings", infos, err)
	}
}

// cutAlways cuts the power before every write, rename and sync. After a cut, either all unsynced
// data survives, or none. The case that only a part survives is excluded, because Pebble requires a
// file system that preserves the order of new names.
func cutAlways(mem *vfs.MemFS) *crashes {
	return &crashes{rng: rand.New(rand.NewPCG(7, 7)), mem: mem, share: 1, most: 1000, whole: true}
}

// TestOpen_UpgradesFormat1 checks that the upgrade of a folder of format 1 loses no data, also
// after a power cut at any step.
func TestOpen_UpgradesFormat1(t *testing.T) {
	mem := vfs.NewCrashableMem()
	unpackFormat1(t, mem)
	c := cutAlways(mem)
	s := open(t, local.Options{FS: errorfs.Wrap(mem, c)})
	checkFormat1(t, s)
	cuts := c.taken()
	if len(cuts) < 20 {
		t.Fatalf("only %d power cuts", len(cuts))
	}
	for i, at := range cuts {
		s, err := local.Open(local.Options{Dir: "data", FS: at.fs, MinFree: -1})
		if err != nil {
			t.Fatalf("cut %d of %d: %v", i, len(cuts), err)
		}
		checkFormat1(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if text := textOf(t, mem, "data/VARVE"); !strings.HasPrefix(text, "varve embedded store, format 2\n") {
		t.Errorf("VARVE says %q", text)
	}
}

func textOf(t *testing.T, fs vfs.FS, path string) string {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestOpen_CompletesNewStore checks that a store whose creation was interrupted at any step is completed
// by the next Open, and accepts an item.
func TestOpen_CompletesNewStore(t *testing.T) {
	mem := vfs.NewCrashableMem()
	c := cutAlways(mem)
	s := open(t, local.Options{FS: errorfs.Wrap(mem, c)})
	create(t, s, week(t, 0))
	cuts := c.taken()
	if len(cuts) < 20 {
		t.Fatalf("only %d power cuts", len(cuts))
	}
	for i, at := range cuts {
		s, err := local.Open(local.Options{Dir: "data", FS: at.fs, MinFree: -1})
		if err != nil {
			t.Fatalf("cut %d of %d: %v", i, len(cuts), err)
		}
		putItem(t, s, "x")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSalvage_RebuildsFormat1 removes the marker of the MANIFEST from a folder of format 1. The
// folder must be refused. After salvage, it must have all data, also the items in Pebble's log.
func TestSalvage_RebuildsFormat1(t *testing.T) {
	mem := vfs.NewCrashableMem()
	unpackFormat1(t, mem)
	for _, path := range filesOf(t, mem, "data/pebble", "") {
		if strings.Contains(path, "marker.manifest") {
			if err := mem.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := refused(t, local.Options{Dir: "data", FS: mem}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("refused with %v", err)
	}
	var r reports
	for life := range 2 {
		opts := local.Options{Dir: "data", FS: mem, MinFree: -1, Salvage: life == 0, Events: r.events(t)}
		s, err := local.Open(opts)
		if err != nil {
			t.Fatal(err)
		}
		checkFormat1(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(r.aside, []string{"pebble"}) {
		t.Errorf("set aside: %q, want pebble", r.aside)
	}
}
