package local_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// noisy returns n readings of a device. Their values compress badly, so that the readings fill several
// data blocks of Pebble. If s is not nil, noisy also writes them to the store.
func noisy(t *testing.T, s *local.Store, device string, n int) []varve.Reading {
	t.Helper()
	list := readings(t, week(t, 0), device, n)
	for i := range list {
		x := uint64(i)*0x9e3779b97f4a7c15 + uint64(len(device)+int(device[len(device)-1]))
		list[i].Fields = []varve.Field{{Name: "n", Value: varve.IntValue(int64(x ^ x>>29))}}
		if v := list[i].Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
	}
	if s != nil {
		write(t, s, week(t, 0), list, varve.Stored)
	}
	return list
}

// ssts returns the Pebble files of a data folder, largest first.
func ssts(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files of Pebble's: %v", err)
	}
	sizes := map[string]int64{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // Pebble has removed the file meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes[path] = info.Size()
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { _, ok := sizes[p]; return !ok })
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) })
	return paths
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// within returns an offset at three eighths of a file. If the file has the data of six devices, one after
// another, the offset is inside the data of the third one.
func within(t *testing.T, path string) int64 {
	t.Helper()
	return sizeOf(t, path) * 3 / 8
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestDamage_OneBlockOfOneFile flips a bit in a data block with readings of one device. Only the lost
// readings of this device may be refused. Other data must be served, also after a restart.
func TestDamage_OneBlockOfOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tb := week(t, 0)
	s := open(t, small(local.Options{Dir: dir}))
	create(t, s, tb)
	const devices, n = 6, 5000
	for i := range devices {
		noisy(t, s, device(i), n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := ssts(t, dir)[0]
	flip(t, path, within(t, path))

	var aside atomic.Int64
	opts := small(local.Options{Dir: dir, Events: local.Events{
		Damaged:  func(file string, err error) { t.Logf("damaged: %s: %.150v", file, err) },
		SetAside: func(file string, lost []local.Loss) { t.Logf("set aside: %s: %+v", file, lost); aside.Add(1) },
		Failed:   func(what string, err error) { t.Errorf("%s: %v", what, err) },
		Fatal:    func(msg string) { t.Errorf("fatal: %s", msg) },
	}})
	for life := range 3 {
		s = open(t, opts)
		bad := ""
		for i := range devices {
			list, err := readAll(t, s, tb, device(i))
			var damage *store.DamageError
			switch {
			case err == nil && len(list) == n:
			case errors.As(err, &damage) && errors.Is(err, store.ErrDamaged) && varve.FailureOf(err) == varve.Damaged:
				bad += device(i)
				if damage.Table != tb.Name() || damage.Series.Device != device(i) {
					t.Errorf("life %d: %s: the error names %s, %s", life, device(i), damage.Table, damage.Series)
				}
			default:
				t.Fatalf("life %d: %s: %d readings, %v", life, device(i), len(list), err)
			}
		}
		if len(bad) != 2 {
			t.Errorf("life %d: %q cannot be read, want one device", life, bad)
		}
		eventually(t, "the file is set aside", func() bool { return aside.Load() == 1 })
		losses := s.Losses()
		if len(losses) != 1 || losses[0].Table != tb.Name() || losses[0].From.IsZero() {
			t.Fatalf("life %d: losses are %+v", life, losses)
		}
		around(t, s, losses[0], bad, n)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadDir(filepath.Join(dir, "damaged")); err != nil || len(kept) != 1 {
		t.Errorf("%d files are kept, %v", len(kept), err)
	}
}

// around reads those readings of a device that are outside the lost range of event times. It checks
// that at least one of the n readings is lost, and at most 1,500, because the damage is in a single
// data block.
func around(t *testing.T, s *local.Store, loss local.Loss, device string, n int) {
	t.Helper()
	tb := week(t, 0)
	r := store.Range{Table: tb, Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: device}}
	total := 0
	for _, w := range []varve.Window{
		{From: tb.Window().From, To: loss.From}, {From: loss.To.Add(time.Second), To: tb.Window().To},
	} {
		r.Window, r.After = w, nil
		for {
			page, err := readBoth(t.Context(), s, r, nil)
			if err != nil {
				t.Fatalf("%s: %v", w, err)
			}
			total += len(page.Readings)
			if !page.More {
				break
			}
			at := page.Readings[len(page.Readings)-1].Position()
			r.After = &at
		}
	}
	if lost := n - total; lost <= 0 || lost > 1500 {
		t.Errorf("%d of %d readings are out of reach", lost, n)
	}
	got, ok, _, err := s.Latest(t.Context(), store.Latest{Table: tb, Series: r.Series, By: varve.ByEvent})
	if err != nil || !ok || !got.Time.Equal(tb.Window().From.Add(time.Duration(n-1)*time.Second)) {
		t.Errorf("the latest reading is %v, %v, %v", got.Time, ok, err)
	}
}
