package local_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

type diskFS struct {
	vfs.FS
	free atomic.Uint64
}

func (d *diskFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 40}, nil
}

// TestStore_RefusesWritesOnLowDisk checks that readings are refused while the free space is just below
// Options.MinFree. Reads, writes of items, retirement and drops must succeed meanwhile. Readings must be
// accepted as soon as the disk has room.
func TestStore_RefusesWritesOnLowDisk(t *testing.T) {
	disk := &diskFS{FS: vfs.NewMem()}
	disk.free.Store(1 << 30)
	s := open(t, local.Options{FS: disk, MinFree: 1 << 20})
	kept, dropped := week(t, 0), week(t, 1)
	create(t, s, kept, dropped)
	list := readings(t, kept, "d", 10)
	write(t, s, kept, list, varve.Stored)
	disk.free.Store(1<<20 - 1)
	more := readings(t, kept, "e", 10)
	eventually(t, "a full disk is noticed", func() bool {
		err := s.Write(t.Context(), []store.Batch{{Table: kept, Readings: more}})[0].Err
		return err != nil && varve.FailureOf(err) == varve.Unavailable && strings.Contains(err.Error(), "make room")
	})
	if got := all(t, s, kept, "d"); len(got) != len(list) {
		t.Errorf("%d readings of %d can be read", len(got), len(list))
	}
	// The rotator can continue: it writes its lease, which is an item, and drops tables.
	if err := s.Put(t.Context(), store.Item{Key: store.Key{PK: "LEASE", SK: "rotator"}}); err != nil {
		t.Errorf("no lease can be taken: %v", err)
	}
	if err := errors.Join(s.Retire(t.Context(), dropped, arrived), s.Drop(t.Context(), dropped)); err != nil {
		t.Errorf("a table cannot be dropped: %v", err)
	}
	disk.free.Store(1 << 30)
	eventually(t, "a disk with room is noticed", func() bool {
		return s.Write(t.Context(), []store.Batch{{Table: kept, Readings: more}})[0].Err == nil
	})
}

// TestReserve_AcceptsCleanup checks a disk whose free space is below half of Options.MinFree. Items
// must be refused, but rotation, drops, deletes and a start must succeed. The condition health.DiskLow must
// be set until the disk has room, also without writes.
func TestReserve_AcceptsCleanup(t *testing.T) {
	disk := &diskFS{FS: vfs.NewMem()}
	disk.free.Store(1 << 30)
	conditions := health.New(health.Options{})
	low := func() bool { return len(conditions.List()) == 1 && conditions.List()[0].Name == health.DiskLow }
	o := local.Options{FS: disk, MinFree: 64 << 20, Conditions: conditions}
	s := open(t, o)
	kept, dropped := week(t, 0), week(t, 1)
	create(t, s, kept, dropped)
	write(t, s, kept, readings(t, kept, "d", 10), varve.Stored)
	item := store.Item{Key: store.Key{PK: "a", SK: "b"}}
	if err := s.Put(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	disk.free.Store(16 << 20)
	eventually(t, "a disk without room is noticed while nobody writes", low)
	if msg := conditions.List()[0].Message; !strings.Contains(msg, "has 16 MiB free, and 64 MiB are kept free: make room") {
		t.Error(msg)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o) // a restart succeeds
	if _, err := s.PutAbsent(t.Context(), []store.Item{{Key: store.Key{PK: "new"}}}); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("absent items: %v", err)
	}
	if err := errors.Join(s.Put(t.Context(), item), s.PutAll(t.Context(), []store.Item{item})); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("items: %v", err)
	}
	reserve := s.Reserve()
	if err := errors.Join(
		reserve.Put(t.Context(), store.Item{Key: store.Key{PK: "LEASE", SK: "rotator"}}),
		reserve.PutAll(t.Context(), []store.Item{{Key: store.Key{PK: "ROLLUP#d", SK: "H#"}}}),
		s.Create(t.Context(), week(t, 2), store.Hot), s.Retire(t.Context(), dropped, arrived), s.Drop(t.Context(), dropped),
		s.Delete(t.Context(), item.Key), s.DeleteAll(t.Context(), []store.Key{item.Key}),
	); err != nil {
		t.Errorf("what makes room: %v", err)
	}
	if n := len(all(t, s, kept, "d")); n != 10 {
		t.Errorf("%d readings can be read, want 10", n)
	}
	disk.free.Store(1 << 30)
	eventually(t, "the condition is cleared", func() bool { return !low() })
	if err := s.Put(t.Context(), item); err != nil {
		t.Error(err)
	}
}

// fillableDisk refuses writes of Pebble while the disk is full, and counts the refused writes.
type fillableDisk struct {
	diskFS
	full  atomic.Bool
	tries atomic.Int64
}

func newFillableDisk() *fillableDisk {
	d := &fillableDisk{}
	d.setFull(false)
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !d.full.Load() || !strings.Contains(op.Path, "pebble") || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRemove {
			return nil
		}
		d.tries.Add(1)
		return syscall.ENOSPC
	}))
	return d
}

// setFull fills the disk, or frees 1 GiB of it.
func (d *fillableDisk) setFull(full bool) {
	d.full.Store(full)
	if full {
		d.free.Store(0)
	} else {
		d.free.Store(1 << 30)
	}
}

// TestFullDisk_DelaysPebble checks a full disk with a negative Options.MinFree. Writes must be refused,
// Pebble must not retry its flush in a loop, and the store must not report a fatal error. When the disk has
// room, writes must succeed, and all acknowledged data must exist.
func TestFullDisk_DelaysPebble(t *testing.T) {
	disk := newFillableDisk()
	conditions := health.New(health.Options{})
	var fatal atomic.Pointer[string]
	s := open(t, local.Options{FS: disk, MinFree: -1, MemtableBytes: 64 << 10, Conditions: conditions, Events: local.Events{
		Fatal: func(msg string) { fatal.Store(&msg) },
	}})
	tb := week(t, 0)
	create(t, s, tb)
	acked := 0
	send := func() error {
		err := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: readings(t, tb, device(acked), 1000)}})[0].Err
		if err == nil {
			acked++
		}
		return err
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	disk.setFull(true)
	eventually(t, "writes are refused", func() bool { return varve.FailureOf(send()) == varve.Unavailable })
	begun := disk.tries.Load()
	if err := s.Verify(t.Context(), local.Pace{}, func(p local.Problem) { t.Errorf("a full disk is damage: %+v", p) }); err != nil {
		t.Errorf("verify on a full disk: %v", err)
	}
	if held := conditions.List(); len(held) != 1 || !strings.Contains(held[0].Message, "is full") {
		t.Errorf("conditions %+v", held)
	}
	if err := s.Reserve().Put(t.Context(), store.Item{Key: store.Key{PK: "LEASE"}}); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("an item on a disk without any room: %v", err)
	}
	for range 50 {
		_ = send() // each of these writes is refused
	}
	if n := disk.tries.Load() - begun; n > 10 {
		t.Errorf("%d writes were tried on a full disk", n)
	}
	disk.setFull(false)
	eventually(t, "writes go on", func() bool { return send() == nil })
	if msg := fatal.Load(); msg != nil {
		t.Errorf("the process would have ended: %s", *msg)
	}
	if held := conditions.List(); len(held) != 0 {
		t.Errorf("conditions %+v", held)
	}
	for i := range acked {
		if n := len(all(t, s, tb, device(i))); n != 1000 {
			t.Errorf("%d of 1000 readings of %s", n, device(i))
		}
	}
}

// TestClose_ReturnsOnFullDisk checks that a full disk does not delay Close, and that
// acknowledged data exists after the next Open.
func TestClose_ReturnsOnFullDisk(t *testing.T) {
	disk := &diskFS{FS: vfs.NewMem()}
	disk.free.Store(1 << 30)
	s := open(t, local.Options{FS: disk, MinFree: 1 << 20})
	tb := week(t, 0)
	create(t, s, tb)
	write(t, s, tb, readings(t, tb, "d", 10), varve.Stored)
	disk.free.Store(0)
	eventually(t, "a full disk is noticed", func() bool {
		return s.Put(t.Context(), store.Item{Key: store.Key{PK: "a", SK: "b"}}) != nil
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	disk.free.Store(1 << 30)
	again := open(t, local.Options{FS: disk, MinFree: 1 << 20})
	if n := len(all(t, again, tb, "d")); n != 10 {
		t.Errorf("%d readings are left, want 10", n)
	}
}

// TestWrite_FailsWithJournal checks that a write fails if the journal cannot be written. When the disk works
// again, writes must succeed. After a power cut, all acknowledged readings must exist once.
func TestWrite_FailsWithJournal(t *testing.T) {
	var sick atomic.Bool
	mem := vfs.NewCrashableMem()
	disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if sick.Load() && strings.Contains(op.Path, "journal") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	conditions := health.New(health.Options{})
	room := &diskFS{FS: disk}
	room.free.Store(1 << 30)
	s := open(t, local.Options{FS: room, MinFree: -1, Conditions: conditions})
	tb := week(t, 0)
	create(t, s, tb)
	write(t, s, tb, readings(t, tb, "d", 100), varve.Stored)
	sick.Store(true)
	room.free.Store(0)
	lost := readings(t, tb, "e", 100)
	result := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: lost}})[0]
	if varve.FailureOf(result.Err) != varve.Unavailable {
		t.Fatalf("a disk that is full: %v", result.Err)
	}
	if held := conditions.List(); len(held) != 1 || held[0].Name != health.DiskLow {
		t.Errorf("conditions of a full disk: %+v", held)
	}
	sick.Store(false)
	room.free.Store(1 << 30)
	eventually(t, "writes go on", func() bool {
		return s.Write(t.Context(), []store.Batch{{Table: tb, Readings: lost}})[0].Err == nil
	})
	// After a power cut, each acknowledged reading exists once.
	again := open(t, local.Options{FS: mem.CrashClone(vfs.CrashCloneCfg{})})
	for _, d := range []string{"d", "e"} {
		if n := len(all(t, again, tb, d)); n != 100 {
			t.Errorf("%d readings of %s, want 100", n, d)
		}
	}
}

func TestDrop_ReleasesDiskSpace(t *testing.T) {
	dir := t.TempDir()
	s := open(t, local.Options{Dir: dir, MemtableBytes: 1 << 20})
	kept, dropped := week(t, 0), week(t, 1)
	create(t, s, kept, dropped)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		list := readings(t, dropped, device(i), 1000)
		for j := range list { // random values, which do not compress
			list[j].Fields[0].Value = varve.IntValue(rng.Int64())
		}
		write(t, s, dropped, list, varve.Stored)
	}
	list := readings(t, kept, "d", 1000)
	write(t, s, kept, list, varve.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, local.Options{Dir: dir})
	before := chunkBytes(t, dir)
	if before < 300_000 {
		t.Fatalf("only %d bytes are in chunks", before)
	}
	if err := errors.Join(s.Retire(t.Context(), dropped, arrived), s.Drop(t.Context(), dropped)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the disk is given back", func() bool { return chunkBytes(t, dir) < before/10 })
	if got := all(t, s, kept, "d"); len(got) != len(list) {
		t.Errorf("%d readings of another table are left of %d", len(got), len(list))
	}
}

// chunkBytes returns the total size of Pebble's files.
func chunkBytes(t *testing.T, dir string) (sum int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // Pebble has deleted the file meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}
