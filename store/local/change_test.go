package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// sickDisk makes writes to the journal fail while its field "sick" is true.
type sickDisk struct {
	sick atomic.Bool
	mem  *vfs.MemFS
}

func (d *sickDisk) MaybeError(op errorfs.Op) error {
	if d.sick.Load() && strings.HasSuffix(op.Path, ".journal") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		return syscall.EIO
	}
	return nil
}

func (d *sickDisk) String() string { return "sick disk" }

func newSickDisk() (*sickDisk, vfs.FS) {
	d := &sickDisk{mem: vfs.NewCrashableMem()}
	return d, errorfs.Wrap(d.mem, d)
}

// TestPut_UnavailableWhileJournalFails checks that changes are refused while the journal cannot
// be written. A change must be visible only when it is durable. The change whose write failed must be
// applied once after the disk recovers.
func TestPut_UnavailableWhileJournalFails(t *testing.T) {
	disk, fs := newSickDisk()
	s := open(t, local.Options{FS: fs, MinFree: -1})
	tb := week(t, 0)
	create(t, s, tb)
	putItem(t, s, "before")
	disk.sick.Store(true)
	calls := map[string]func() error{
		"Put": func() error {
			return s.Put(t.Context(), store.Item{Key: store.Key{PK: "p", SK: "new"}, GSI1: store.Key{PK: "g", SK: "new"}})
		},
		"Delete":    func() error { return s.Delete(t.Context(), store.Key{PK: "p", SK: "before"}) },
		"PutAll":    func() error { return s.PutAll(t.Context(), []store.Item{{Key: store.Key{PK: "p", SK: "all"}}}) },
		"DeleteAll": func() error { return s.DeleteAll(t.Context(), []store.Key{{PK: "p", SK: "before"}}) },
		"Create":    func() error { return s.Create(t.Context(), week(t, 1), store.Hot) },
		"Hold":      func() error { return s.Hold(t.Context(), tb, "a reason") },
	}
	// The first change is appended, and its write fails. The other changes are refused.
	for _, name := range []string{"Put", "Delete", "PutAll", "DeleteAll", "Create", "Hold"} {
		for range 2 {
			if err := calls[name](); varve.FailureOf(err) != varve.Unavailable {
				t.Errorf("%s on a sick disk: %v", name, err)
			}
		}
	}
	if keys := itemsOf(t, s); !slices.Equal(keys, []string{"before"}) {
		t.Errorf("items %q are seen, and are not durable", keys)
	}
	disk.sick.Store(false)
	eventually(t, "changes go on", func() bool { return calls["Hold"]() == nil })
	for _, name := range []string{"Put", "PutAll", "Create"} {
		if err := calls[name](); err != nil {
			t.Errorf("%s on a well disk: %v", name, err)
		}
	}
	want := []string{"before", "new"}
	if keys := itemsOf(t, s); !slices.Equal(keys, want) {
		t.Errorf("items %q, want %q", keys, want)
	}
	again := open(t, local.Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{}), MinFree: -1})
	if keys := itemsOf(t, again); !slices.Equal(keys, want) {
		t.Errorf("items %q after a crash, want %q", keys, want)
	}
}

// TestPut_OpenOutcomeIsApplied checks that a change is applied when it is durable, even if its
// caller gave up. The next change of the item must remove the index entry of the first change.
func TestPut_OpenOutcomeIsApplied(t *testing.T) {
	gate := make(chan struct{})
	var slow atomic.Bool
	mem := vfs.NewCrashableMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if slow.Load() && op.Kind == errorfs.OpFileSyncData {
			<-gate
		}
		return nil
	}))
	s := open(t, local.Options{FS: fs, MinFree: -1})
	put := func(ctx context.Context, in string) error {
		return s.Put(ctx, store.Item{Key: store.Key{PK: "p", SK: "x"}, GSI1: store.Key{PK: "g", SK: in}})
	}
	slow.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := put(ctx, "first"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Put returned %v before it was durable", err)
	}
	if keys := itemsOf(t, s); len(keys) > 0 {
		t.Errorf("items %q are seen, and are not durable", keys)
	}
	if v, ok := s.ItemVersion("p", "x"); ok {
		t.Errorf("the item has version %v while a change is open", v)
	}
	slow.Store(false)
	close(gate)
	if err := put(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.ItemVersion("p", "x"); !ok {
		t.Error("the item has no version after all changes")
	}
	for name, st := range map[string]*local.Store{
		"alive": s, "after a crash": open(t, local.Options{FS: mem.CrashClone(vfs.CrashCloneCfg{}), MinFree: -1}),
	} {
		if keys := itemsOf(t, st); !slices.Equal(keys, []string{"x"}) {
			t.Errorf("%s: the index has %q, want x once", name, keys)
		}
	}
}

// TestJournal_RotatesOnItems checks that changes of items alone end a segment of the journal when
// it reaches JournalBytes.
func TestJournal_RotatesOnItems(t *testing.T) {
	dir := t.TempDir()
	s := open(t, local.Options{Dir: dir, JournalBytes: 4096})
	first := only(t, filepath.Join(dir, "journal", "*.journal"))
	for i := range 100 {
		putItem(t, s, fmt.Sprintf("%03d", i))
	}
	eventually(t, "the first segment is removed", func() bool {
		_, err := os.Stat(first)
		return errors.Is(err, os.ErrNotExist)
	})
	if n := len(itemsOf(t, s)); n != 100 {
		t.Errorf("%d items, want 100", n)
	}
}

// TestOpen_RebuildsPebbleWithoutItsLastRecords truncates Pebble's manifest, its list of files, so that
// the list lacks flushed files. The store must notice the damage before Pebble deletes these files. It must
// then use all of them, or refuse to open and leave them unchanged.
func TestOpen_RebuildsPebbleWithoutItsLastRecords(t *testing.T) {
	dir := t.TempDir()
	var flushed atomic.Int64
	s := open(t, local.Options{Dir: dir, MemtableBytes: 2000, Events: local.Events{Flushed: func(int64, int64, time.Duration) { flushed.Add(1) }}})
	tb := week(t, 0)
	create(t, s, tb)
	for i := range int64(3) {
		write(t, s, tb, readings(t, tb, device(int(i)), 100), varve.Stored)
		eventually(t, "readings become chunks", func() bool { return flushed.Load() > i })
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left := copyOf(t, dir)
	manifest, err := os.ReadFile(only(t, filepath.Join(left, "pebble", "MANIFEST-*")))
	if err != nil {
		t.Fatal(err)
	}
	rebuilt, refusals := 0, 0
	for cut := 1; cut < len(manifest); cut += 7 {
		at := copyOf(t, left)
		edit(t, only(t, filepath.Join(at, "pebble", "MANIFEST-*")), func(d []byte) []byte { return d[:len(d)-cut] })
		before := sstables(t, at)
		again, err := local.Open(local.Options{Dir: at, Events: local.Events{
			Fatal:    func(msg string) { t.Log(msg) },
			SetAside: func(string, []local.Loss) { rebuilt++ },
		}})
		if err == nil {
			if checkReadingsAfterCut(t, again, tb, cut) {
				refusals++
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if after := sstables(t, at); !slices.Equal(before, after) {
			t.Errorf("manifest cut by %d bytes: refused with %v, and files became %q, were %q", cut, err, after, before)
		}
	}
	if rebuilt == 0 {
		t.Error("no cut was noticed")
	}
	t.Logf("rebuilt after %d cuts; readings were refused after %d", rebuilt, refusals)
}

// checkReadingsAfterCut reads three devices of a store whose manifest was cut, before and after
// the losses are accepted. It reports whether readings were refused before the acceptance.
func checkReadingsAfterCut(t *testing.T, s *local.Store, tb grid.Table, cut int) (refused bool) {
	t.Helper()
	losses := s.Losses()
	for i := range 3 {
		list, err := readAll(t, s, tb, device(i))
		switch {
		case errors.Is(err, store.ErrDamaged) && len(losses) > 0:
			refused = true
		case err != nil || len(list) != 100:
			t.Errorf("manifest cut by %d bytes: %d readings of %s, want 100 or damage; %v, losses %+v", cut, len(list), device(i), err, losses)
		}
	}
	// Only the list of files was damaged, so all data can be read after the losses are accepted.
	if _, err := s.AcceptLosses(t.Context()); err != nil {
		t.Errorf("manifest cut by %d bytes: %v", cut, err)
	}
	for i := range 3 {
		if n := len(all(t, s, tb, device(i))); n != 100 {
			t.Errorf("manifest cut by %d bytes: %d readings of %s, want 100", cut, n, device(i))
		}
	}
	return refused
}

// TestOpen_RefusesPebbleRolledBack checks that an earlier state of Pebble is refused at each start, and
// that no file changes. With Salvage, the store must open with this state and report the losses.
func TestOpen_RefusesPebbleRolledBack(t *testing.T) {
	dir := t.TempDir()
	tb := week(t, 0)
	lives := []string{}
	for i := range 3 {
		s := open(t, local.Options{Dir: dir})
		create(t, s, tb)
		write(t, s, tb, readings(t, tb, device(i), 100), varve.Stored)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		lives = append(lives, copyOf(t, dir))
	}
	removeAll(t, dir, "pebble")
	if err := os.CopyFS(filepath.Join(dir, "pebble"), os.DirFS(filepath.Join(lives[0], "pebble"))); err != nil {
		t.Fatal(err)
	}
	before := sstables(t, dir)
	for range 3 {
		err := refused(t, local.Options{Dir: dir})
		if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "older than the journal") || !strings.Contains(err.Error(), "varve repair") {
			t.Errorf("refused with %v", err)
		}
		if after := sstables(t, dir); !slices.Equal(before, after) {
			t.Errorf("files became %q, were %q", after, before)
		}
	}
	var losses []local.Loss
	s := open(t, local.Options{Dir: dir, Salvage: true, Events: local.Events{Lost: func(l []local.Loss) { losses = l }}})
	if n := len(all(t, s, tb, device(0))); n != 100 {
		t.Errorf("%d readings are salvaged, want 100", n)
	}
	if len(losses) != 1 || losses[0].Segment == 0 || losses[0].Harmless {
		t.Errorf("losses %+v", losses)
	}
}

func sstables(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths
}
