package local_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestCatalog_ReportsFailedSave makes the writes of the file CATALOG or of its copy fail. Changes of
// tables must be refused, and writes of readings and items must succeed. When the disk works again,
// the refused changes must succeed, and must survive a power cut.
func TestCatalog_ReportsFailedSave(t *testing.T) {
	for _, file := range []string{"CATALOG.tmp", "CATALOG.copy.tmp"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			testFailedSave(t, file)
		})
	}
}

func testFailedSave(t *testing.T, file string) {
	mem := vfs.NewCrashableMem()
	var sick atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if sick.Load() && strings.HasSuffix(op.Path, "/"+file) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.EIO
		}
		return nil
	}))
	s := open(t, local.Options{FS: fs, MinFree: -1})
	create(t, s, week(t, 0))
	sick.Store(true)
	changes := map[string]func() error{
		"Hold":   func() error { return s.Hold(t.Context(), week(t, 0), "evidence") },
		"Create": func() error { return s.Create(t.Context(), week(t, 1), store.Hot) },
	}
	for _, name := range []string{"Hold", "Create", "Hold"} {
		if err := changes[name](); varve.FailureOf(err) != varve.Unavailable {
			t.Errorf("%s while %s cannot be written: %v, want it unavailable", name, file, err)
		}
	}
	write(t, s, week(t, 0), readings(t, week(t, 0), "d", 50), varve.Stored)
	putItem(t, s, "x")
	// The hold was appended, so it may survive a power cut. No other change may.
	checkSaved(t, mem.CrashClone(vfs.CrashCloneCfg{}), []string{"", "evidence"}, 1)

	sick.Store(false)
	for name, change := range changes {
		if err := change(); err != nil {
			t.Errorf("%s on a well disk: %v", name, err)
		}
	}
	checkSaved(t, mem.CrashClone(vfs.CrashCloneCfg{}), []string{"evidence"}, 2)
}

// TestFlush_SavesCatalog creates a table while CATALOG cannot be written. The next flush on a
// working disk must save CATALOG, without another change of a table.
func TestFlush_SavesCatalog(t *testing.T) {
	mem := vfs.NewMem()
	var broken atomic.Bool
	disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && strings.Contains(op.Path, "CATALOG") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.EIO
		}
		return nil
	}))
	s := open(t, local.Options{FS: disk, MinFree: -1, MemtableBytes: 16 << 10})
	tb := week(t, 0)
	broken.Store(true)
	if err := s.Create(t.Context(), tb, store.Hot); varve.FailureOf(err) != varve.Unavailable {
		t.Fatalf("create while CATALOG cannot be written: %v, want it unavailable", err)
	}
	broken.Store(false)
	for n := range 20 {
		write(t, s, tb, readings(t, tb, device(n), 50), varve.Stored)
	}
	eventually(t, "CATALOG has the table", func() bool { return strings.Contains(textOf(t, mem, "data/CATALOG"), tb.Name()) })
}

// checkSaved opens the store on a disk after a power cut. It checks the readings, the item and the
// number of tables. The hold of the first table must be the first or the last element of "holds".
func checkSaved(t *testing.T, disk *vfs.MemFS, holds []string, tables int) {
	t.Helper()
	var failed []string
	var mu sync.Mutex
	s, err := local.Open(local.Options{Dir: "data", FS: disk, MinFree: -1, Events: local.Events{Damaged: func(file string, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, file+": "+err.Error())
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(failed) > 0 {
		t.Errorf("damaged: %q", failed)
	}
	if n := len(all(t, s, week(t, 0), "d")); n != 50 {
		t.Errorf("%d readings, want 50", n)
	}
	if keys := itemsOf(t, s); len(keys) != 1 {
		t.Errorf("items %q, want x", keys)
	}
	infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime()})
	if err != nil || len(infos) != tables {
		t.Errorf("%d tables, want %d; %v", len(infos), tables, err)
	}
	for _, in := range infos {
		if in.Table == week(t, 0) && in.Hold != holds[0] && in.Hold != holds[len(holds)-1] {
			t.Errorf("hold %q, want one of %q", in.Hold, holds)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
