package local_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// beforeRemoval copies the disk before the change of the journal's chain that precedes the first
// removal of a segment. The contents of the segment are then in the journal and in Pebble.
type beforeRemoval struct {
	mem *vfs.MemFS

	mu    sync.Mutex
	last  *vfs.MemFS // copy from before the latest change of the journal's chain
	taken *vfs.MemFS // copy from before the first removal of a segment; nil before this removal
}

func (b *beforeRemoval) MaybeError(op errorfs.Op) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.taken != nil:
	case op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "CHAIN"):
		b.last = b.mem.CrashClone(vfs.CrashCloneCfg{})
	case op.Kind == errorfs.OpRemove && strings.HasSuffix(op.Path, ".journal"):
		b.taken = b.last
	}
	return nil
}

func (b *beforeRemoval) String() string { return "before removal" }

func (b *beforeRemoval) disk() *vfs.MemFS {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken
}

const inBothDevices, inBothReadings = 4, 1000

// inBoth returns a disk with the readings of some devices, and with one item per device. All of
// them are in the journal and in several files of Pebble.
func inBoth(t *testing.T) *vfs.MemFS {
	t.Helper()
	b := &beforeRemoval{mem: vfs.NewCrashableMem()}
	s := open(t, inBothOptions(errorfs.Wrap(b.mem, b)))
	create(t, s, week(t, 0), week(t, 1))
	if err := s.Hold(t.Context(), week(t, 1), "evidence"); err != nil {
		t.Fatal(err)
	}
	for i := range inBothDevices {
		if err := s.Put(t.Context(), item(i, 1)); err != nil {
			t.Fatal(err)
		}
		noisy(t, s, device(i), inBothReadings)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if b.disk() == nil {
		t.Fatal("no segment was removed")
	}
	return b.disk()
}

func inBothOptions(fs vfs.FS) local.Options {
	return local.Options{Dir: "data", FS: fs, MinFree: -1, ChunkReadings: 128}.WithBlockBytes(300)
}

// filesOf lists the files of a folder whose names end with the suffix.
func filesOf(t *testing.T, fs vfs.FS, dir, suffix string) (paths []string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			paths = append(paths, fs.PathJoin(dir, name))
		}
	}
	return paths
}

func overwrite(t *testing.T, fs vfs.FS, path string, data []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOpen_SurvivesLostSync loses a file that the disk reported as synced, while its content is in the
// journal and in Pebble. After the losses are accepted, no data may be missing or duplicated.
func TestOpen_SurvivesLostSync(t *testing.T) {
	t.Parallel()
	disk := inBoth(t)
	tables := filesOf(t, disk, "data/pebble", ".sst")
	segments := filesOf(t, disk, "data/journal", ".journal")
	if len(tables) < 2 || len(segments) < 2 {
		t.Fatalf("files %q and segments %q, want several of each", tables, segments)
	}
	ways := map[string]func(t *testing.T, fs vfs.FS, path string){
		"absent": func(t *testing.T, fs vfs.FS, path string) {
			if err := fs.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, fs vfs.FS, path string) { overwrite(t, fs, path, nil) },
		"zeros": func(t *testing.T, fs vfs.FS, path string) {
			overwrite(t, fs, path, make([]byte, len(textOf(t, fs, path))))
		},
	}
	for way, lose := range ways {
		// The last segment stays whole, because none of its content is in Pebble.
		for _, path := range append(slices.Clone(tables), segments[:len(segments)-1]...) {
			t.Run(disk.PathBase(path)+" "+way, func(t *testing.T) {
				t.Parallel()
				fs := disk.CrashClone(vfs.CrashCloneCfg{})
				lose(t, fs, path)
				for life := range 2 {
					var r reports
					opts := inBothOptions(fs)
					opts.Events = r.events(t)
					s, err := local.Open(opts)
					if err != nil {
						t.Fatalf("life %d: %v", life, err)
					}
					// A lost file of Pebble may have had more data than the journal, so reads of its range are refused.
					readStore(t, s, inBothDevices, inBothReadings)
					if _, err := s.AcceptLosses(t.Context()); err != nil {
						t.Fatal(err)
					}
					want := state{devices: inBothDevices, items: inBothDevices}
					if got := readStore(t, s, inBothDevices, inBothReadings); got != want || len(s.Losses()) > 0 {
						t.Errorf("life %d: %+v, want %+v; losses %+v", life, got, want, s.Losses())
					}
					holds(t, s)
					infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: week(t, 0).Window()})
					if err != nil || len(infos) != 1 || infos[0].Readings != inBothDevices*inBothReadings {
						t.Errorf("life %d: tables %+v, %v; the first has %d readings", life, infos, err, infos[0].Readings)
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestRebuild_SurvivesPowerCuts cuts the power at each step of a rebuild, also between the marker
// REBUILT and each rename. The next start must complete the rebuild, and no data may be lost.
func TestRebuild_SurvivesPowerCuts(t *testing.T) {
	const devices, n = 2, 300
	mem := vfs.NewCrashableMem()
	s := open(t, inBothOptions(mem))
	create(t, s, week(t, 0), week(t, 1))
	if err := s.Hold(t.Context(), week(t, 1), "evidence"); err != nil {
		t.Fatal(err)
	}
	for i := range devices {
		if err := s.Put(t.Context(), item(i, 1)); err != nil {
			t.Fatal(err)
		}
		noisy(t, s, device(i), n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range filesOf(t, mem, "data/pebble", "") {
		if strings.Contains(path, "marker.manifest") {
			if err := mem.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := cutAlways(mem)
	var r reports
	opts := inBothOptions(errorfs.Wrap(mem, c))
	opts.Events = r.events(t)
	s = open(t, opts)
	if !slices.Contains(r.aside, "pebble") {
		t.Fatalf("set aside: %q, want pebble", r.aside)
	}
	checkRebuilt(t, s, devices, n)
	seen := map[string]int{}
	for i, at := range c.taken() {
		seen[rebuildStep(at.fs)]++
		for life := range 2 {
			opts := inBothOptions(at.fs)
			var r reports
			opts.Events = r.events(t)
			s, err := local.Open(opts)
			if err != nil {
				t.Fatalf("cut %d, life %d: %v", i, life, err)
			}
			checkRebuilt(t, s, devices, n)
			if step := rebuildStep(at.fs); step != "done" {
				t.Errorf("cut %d, life %d: the rebuild is left at %q", i, life, step)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("power cuts: %v", seen)
	for _, step := range []string{"being written", "marked", "old one moved", "renamed", "done"} {
		if seen[step] == 0 {
			t.Errorf("no cut while %s; %v", step, seen)
		}
	}
}

func rebuildStep(fs vfs.FS) string {
	exists := func(name string) bool {
		_, err := fs.Stat("data/" + name)
		return err == nil
	}
	switch marked, rebuilt, pebble := exists("REBUILT"), exists("pebble.new"), exists("pebble"); {
	case marked && rebuilt && pebble:
		return "marked"
	case marked && rebuilt:
		return "old one moved"
	case marked:
		return "renamed"
	case rebuilt:
		return "being written"
	default:
		return "done"
	}
}

// checkRebuilt checks that a store has all readings and items of the devices, and the hold of a
// table.
func checkRebuilt(t *testing.T, s *local.Store, devices, n int) {
	t.Helper()
	if got, want := readStore(t, s, devices, n), (state{devices: devices, items: devices}); got != want {
		t.Errorf("%+v, want %+v; losses %+v", got, want, s.Losses())
	}
	holds(t, s)
}

// TestOpen_SurvivesPowerCuts cuts the power at each step of a start after a kill. After each cut,
// the store must open and have all data.
func TestOpen_SurvivesPowerCuts(t *testing.T) {
	t.Parallel()
	const devices, n = 2, 300
	mem := vfs.NewCrashableMem()
	s := open(t, inBothOptions(mem))
	create(t, s, week(t, 0), week(t, 1))
	if err := s.Hold(t.Context(), week(t, 1), "evidence"); err != nil {
		t.Fatal(err)
	}
	for i := range devices {
		if err := s.Put(t.Context(), item(i, 1)); err != nil {
			t.Fatal(err)
		}
		noisy(t, s, device(i), n)
	}
	killed := mem.CrashClone(vfs.CrashCloneCfg{})
	c := cutAlways(killed)
	s = open(t, inBothOptions(errorfs.Wrap(killed, c)))
	checkRebuilt(t, s, devices, n)
	cuts := c.taken()
	if len(cuts) < 20 {
		t.Fatalf("only %d power cuts", len(cuts))
	}
	for i, at := range cuts {
		var r reports
		opts := inBothOptions(at.fs)
		opts.Events = r.events(t)
		s, err := local.Open(opts)
		if err != nil {
			t.Fatalf("cut %d of %d: %v", i, len(cuts), err)
		}
		checkRebuilt(t, s, devices, n)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
