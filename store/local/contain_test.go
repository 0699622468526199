package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestCheckFolder_ReportsMissingPebble checks that a missing folder of Pebble is reported as damage,
// and that an empty data folder is not a valid store.
func TestCheckFolder_ReportsMissingPebble(t *testing.T) {
	dir := filled(t, 1, 100)
	if err := os.RemoveAll(filepath.Join(dir, "pebble")); err != nil {
		t.Fatal(err)
	}
	var found []local.Problem
	err := local.CheckFolder(t.Context(), dir, 0, func(p local.Problem) { found = append(found, p) })
	if err != nil || len(found) == 0 || !strings.Contains(found[0].Err.Error(), "pebble is missing") {
		t.Errorf("%+v, %v", found, err)
	}
	err = local.CheckFolder(t.Context(), t.TempDir(), 0, func(p local.Problem) { t.Errorf("%+v", p) })
	if err == nil || !strings.Contains(err.Error(), "holds no store") {
		t.Errorf("of an empty folder: %v", err)
	}
}

// TestOpen_LeavesForeignFolderAlone checks that Open creates no file in a foreign folder.
func TestOpen_LeavesForeignFolderAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "photo.jpg"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, salvage := range []bool{false, true} {
		if _, err := local.Open(local.Options{Dir: dir, Salvage: salvage}); err == nil {
			t.Fatal("opened")
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("salvage %t: the folder has %v, %v", salvage, entries, err)
		}
	}
}

// fullAside is a disk without room for whole copies of damaged files.
type fullAside struct{ vfs.FS }

func (f fullAside) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	if err == nil && filepath.Base(filepath.Dir(name)) == "damaged" {
		return halfWritten{file}, nil
	}
	return file, err
}

type halfWritten struct{ vfs.File }

func (h halfWritten) Write(p []byte) (int, error) {
	n, err := h.File.Write(p[:len(p)/2])
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

// TestSetAside_RemovesPartialCopies sets a damaged file aside on a full disk, three times. Each
// attempt must fail, and no partial copy may remain.
func TestSetAside_RemovesPartialCopies(t *testing.T) {
	dir := filled(t, 2, 30000)
	path := ssts(t, dir)[0]
	flip(t, path, sizeOf(t, path)/2)
	s, err := local.Open(local.Options{Dir: dir, MinFree: -1, FS: fullAside{vfs.Default}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 3 {
		if err := s.Verify(t.Context(), local.Pace{}, func(local.Problem) {}); err != nil {
			t.Fatal(err)
		}
		if err := s.SetAside(t.Context()); err == nil {
			t.Fatal("the damaged file is set aside without a copy")
		}
	}
	copies, err := filepath.Glob(filepath.Join(dir, "damaged", "*.sst-*"))
	if err != nil || len(copies) != 0 {
		t.Errorf("partial copies: %v, %v", copies, err)
	}
}

// TestRead_NamesCutFileAsDamaged cuts off a file while the store is open. Reads must fail with
// damage, and the file must be set aside.
func TestRead_NamesCutFileAsDamaged(t *testing.T) {
	dir := filled(t, 2, 30000)
	s, err := local.Open(local.Options{Dir: dir, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := os.Truncate(ssts(t, dir)[0], 100); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 2 {
		switch _, err := readAll(t, s, week(t, 0), device(i)); {
		case errors.Is(err, store.ErrDamaged):
			refused++
		case err != nil:
			t.Errorf("%s: %v", device(i), err)
		}
	}
	if refused == 0 {
		t.Error("no device is refused")
	}
	eventually(t, "the file is set aside", func() bool { return len(s.Losses()) > 0 })
}

// TestSeries_HidesDamagedKey checks that the error about a damaged key does not contain the key.
func TestSeries_HidesDamagedKey(t *testing.T) {
	s, err := local.Open(local.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	create(t, s, week(t, 0))
	if err := s.AddDamagedKey(week(t, 0)); err != nil {
		t.Fatal(err)
	}
	page, err := s.Series(t.Context(), store.SeriesQuery{Table: week(t, 0)})
	if err == nil {
		_, err = s.Series(t.Context(), store.SeriesQuery{Table: week(t, 0), After: page.Next})
	}
	if !errors.Is(err, store.ErrDamaged) || strings.Contains(err.Error(), fmt.Sprintf("%x", "patient 17")) {
		t.Errorf("%v, want damage without the key", err)
	}
}

// TestEstimate_RefusesLostRange destroys a chunk in the middle of a series. Estimate must fail for windows that a
// read refuses, and only for these. The list of series must fail, or report the loss.
func TestEstimate_RefusesLostRange(t *testing.T) {
	dir := filled(t, 1, 30000)
	s := open(t, local.Options{Dir: dir, MinFree: -1})
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil { // merges the chunks into level 1
		t.Fatal(err)
	}
	path := ssts(t, dir)[0]
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, path, info.Size()/2)
	s = open(t, local.Options{Dir: dir, MinFree: -1})
	_, _ = readAll(t, s, week(t, 0), device(0)) // a read finds the damage
	eventually(t, "the chunk is set aside", func() bool { return len(s.Losses()) > 0 })
	refused := 0
	const parts = 20
	from, step := week(t, 0).Window().From, 30000*time.Second/parts // one reading a second
	for i := range parts {
		r := store.Range{Table: week(t, 0), Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: device(0)}}
		r.Window = varve.Window{From: from.Add(time.Duration(i) * step), To: from.Add(time.Duration(i+1) * step)}
		_, err := s.Estimate(t.Context(), r)
		var readErr error
		for more := true; more && readErr == nil; {
			var page store.Page
			page, readErr = s.Read(t.Context(), r, nil)
			if more = page.More; more {
				last := page.Readings[len(page.Readings)-1].Position()
				r.After = &last
			}
		}
		if errors.Is(readErr, store.ErrDamaged) {
			refused++
		}
		if errors.Is(readErr, store.ErrDamaged) != errors.Is(err, store.ErrDamaged) {
			t.Errorf("part %d: the estimate is %v, and a read %v", i, err, readErr)
		}
	}
	if refused == 0 || refused == parts {
		t.Errorf("%d of %d parts are refused, want some", refused, parts)
	}
	q := store.SeriesQuery{Table: week(t, 0), After: "chunks"}
	if _, err := s.Series(t.Context(), q); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("the list of series: %v", err)
	}
	var damage []error
	q.Damaged = func(err error) { damage = append(damage, err) }
	page, err := s.Series(t.Context(), q)
	if err != nil || len(damage) != 1 || !errors.Is(damage[0], store.ErrDamaged) || len(page.Series) != 1 {
		t.Errorf("%v, %v: %d series, want one and one loss", err, damage, len(page.Series))
	}
}

// withoutSpans is a file system on which the files with the remaining data of damaged files cannot be
// created.
type withoutSpans struct{ vfs.FS }

func (f withoutSpans) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(filepath.Base(name), "span-") {
		return nil, syscall.ENOSPC
	}
	return f.FS.Create(name, c)
}

// TestSetAside_RemovesCopyOfFailedAttempt makes attempts to set a damaged file aside fail on a full disk.
// Their copies of the file must not fill the disk further.
func TestSetAside_RemovesCopyOfFailedAttempt(t *testing.T) {
	t.Parallel()
	dir := filled(t, 2, 30000)
	path := ssts(t, dir)[0]
	flip(t, path, sizeOf(t, path)/2)
	s := open(t, local.Options{Dir: dir, MinFree: -1, FS: withoutSpans{vfs.Default}, Events: local.Events{Failed: func(string, error) {}}})
	for range 2 {
		if err := s.Verify(t.Context(), local.Pace{}, func(local.Problem) {}); err != nil {
			t.Fatal(err)
		}
		if err := s.SetAside(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("set aside: %v, want a full disk", err)
		}
	}
	copies, err := filepath.Glob(filepath.Join(dir, "damaged", "*.sst-*"))
	if err != nil || len(copies) > 0 {
		t.Errorf("failed attempts left %q: %v", copies, err)
	}
}
