package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

type reports struct {
	mu      sync.Mutex
	damaged []string
	aside   []string
	lost    []local.Loss
}

func (r *reports) events(t *testing.T) local.Events {
	return local.Events{
		Damaged: func(file string, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.damaged = append(r.damaged, fmt.Sprintf("%s: %.200v", filepath.Base(file), err))
		},
		SetAside: func(file string, lost []local.Loss) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.aside, r.lost = append(r.aside, file), append(r.lost, lost...)
		},
		Failed: func(what string, err error) { t.Errorf("%s: %v", what, err) },
		Fatal:  func(msg string) { t.Errorf("fatal: %s", msg) },
	}
}

func (r *reports) any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.damaged) > 0
}

// filled returns the folder of a closed store. The store has n readings and an item of each device, and
// a second table on hold.
func filled(t *testing.T, devices, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, small(local.Options{Dir: dir}))
	create(t, s, week(t, 0), week(t, 1))
	if err := s.Hold(t.Context(), week(t, 1), "evidence"); err != nil {
		t.Fatal(err)
	}
	for i := range devices {
		noisy(t, s, device(i), n)
		if err := s.Put(t.Context(), item(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func item(i, version int) store.Item {
	return store.Item{
		Key:   store.Key{PK: "P", SK: fmt.Sprintf("k%03d", i)},
		GSI1:  store.Key{PK: fmt.Sprintf("g%d", version), SK: fmt.Sprintf("s%03d", i)},
		Attrs: map[string]varve.Value{"v": varve.IntValue(int64(version))},
	}
}

// state counts the readable and refused devices and items of a store.
type state struct{ devices, refused, items, refusedItems int }

// readStore reads everything. It fails if data is incorrect or silently absent.
func readStore(t *testing.T, s *local.Store, devices, n int) (st state) {
	t.Helper()
	tb := week(t, 0)
	for i := range devices {
		list, err := readAll(t, s, tb, device(i))
		switch {
		case errors.Is(err, store.ErrDamaged):
			st.refused++
			continue
		case err != nil:
			t.Fatalf("%s: %v", device(i), err)
		}
		st.devices++
		want := noisy(t, nil, device(i), n)
		if len(list) != n {
			t.Fatalf("%s: %d readings without an error, want %d; losses %+v", device(i), len(list), n, s.Losses())
		}
		for j := range list {
			if !list[j].Time.Equal(want[j].Time) || !list[j].Fields[0].Value.Equal(want[j].Fields[0].Value) {
				t.Fatalf("%s: reading %d is %v, want %v", device(i), j, list[j], want[j])
			}
		}
	}
	for i := range devices {
		got, err := s.Get(t.Context(), []store.Key{item(i, 1).Key}, true)
		switch {
		case errors.Is(err, store.ErrDamaged):
			st.refusedItems++
		case err != nil:
			t.Fatalf("item %d: %v", i, err)
		case len(got) != 1 || !got[0].Attrs["v"].Equal(varve.IntValue(1)):
			t.Fatalf("item %d is %v without an error; losses %+v", i, got, s.Losses())
		default:
			st.items++
		}
	}
	for _, q := range []store.ItemQuery{{PK: "P"}, {PK: "g1", Index: store.GSI1}} {
		page, err := s.Query(t.Context(), q)
		if err == nil && len(page.Items) != devices || err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Fatalf("query %+v: %d items, %v", q, len(page.Items), err)
		}
	}
	return st
}

// holds checks the hold of the second table, which must never be lost.
func holds(t *testing.T, s *local.Store) {
	t.Helper()
	infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime(), Details: true})
	if err != nil {
		t.Fatal(err)
	}
	held := map[grid.Table]string{}
	for _, in := range infos {
		held[in.Table] = in.Hold
	}
	if len(infos) != 2 || held[week(t, 1)] != "evidence" {
		t.Fatalf("tables are %v", held)
	}
}

// TestDamage_SmallStoreStarts flips a bit anywhere in a Pebble file of a small store. The store
// must open, serve only correct data and refuse the rest, also after a restart.
func TestDamage_SmallStoreStarts(t *testing.T) {
	t.Parallel()
	const devices, n = 5, 800
	dir := filled(t, devices, n)
	paths := ssts(t, dir)
	rng := rand.New(rand.NewPCG(7, 8))
	var total state
	for round := range 32 {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(copied, "pebble", filepath.Base(paths[rng.IntN(len(paths))]))
		at := rng.Int64N(sizeOf(t, path))
		flip(t, path, at)
		var last state
		for life := range 2 {
			var r reports
			s, err := local.Open(small(local.Options{Dir: copied, Events: r.events(t)}))
			if err != nil {
				t.Fatalf("round %d, byte %d of %d, life %d: %v", round, at, sizeOf(t, path), life, err)
			}
			st := readStore(t, s, devices, n)
			holds(t, s)
			if life == 1 && st != last {
				t.Errorf("round %d: %+v, and after a restart %+v", round, last, st)
			}
			last = st
			if err := s.Close(); err != nil {
				t.Errorf("round %d: close: %v", round, err)
			}
		}
		total.devices += last.devices
		total.items += last.items
	}
	t.Logf("of %d devices and items, %d devices and %d items can be read", 32*devices, total.devices, total.items)
	if total.devices < 32*devices/2 {
		t.Errorf("only %d devices of %d can be read", total.devices, 32*devices)
	}
}

// TestDamage_AnyFileLetsStoreOpen damages files of Pebble or the catalog in many ways. The store must open
// each time.
func TestDamage_AnyFileLetsStoreOpen(t *testing.T) {
	t.Parallel()
	const devices, n = 6, 5600
	dir := filled(t, devices, n)
	// A second run of the store writes separate files.
	s := open(t, small(local.Options{Dir: dir}))
	noisy(t, s, "other", 250)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	largest, smallest := 0, len(ssts(t, dir))-1
	if smallest == 0 {
		t.Fatal("there is one file only")
	}
	for _, tt := range fileDamages(largest, smallest) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			tt.do(t, tt.path(t, copied))
			var last state
			for life := range 2 {
				st := tt.check(t, copied, devices, n, life)
				if life == 1 && st != last {
					t.Errorf("%+v, and after a restart %+v", last, st)
				}
				last = st
			}
			t.Logf("%+v", last)
		})
	}
}

type fileDamage struct {
	name, glob string // the glob selects the damaged file, unless it is empty
	at         int    // if the glob is empty, the index of a Pebble file, in the order of decreasing size
	do         func(t *testing.T, path string)
	all        bool // if true, no data may be refused; if false, the damage must be reported
}

func (d fileDamage) path(t *testing.T, dir string) string {
	t.Helper()
	if d.glob == "" {
		return ssts(t, dir)[d.at]
	}
	found, err := filepath.Glob(filepath.Join(dir, "pebble", d.glob))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s: %v", d.glob, err)
	}
	return found[len(found)-1]
}

// check opens and closes a store with this damage, and returns its readable state. The argument "life"
// is the number of earlier starts.
func (d fileDamage) check(t *testing.T, dir string, devices, n, life int) state {
	t.Helper()
	var r reports
	s, err := local.Open(small(local.Options{Dir: dir, Events: r.events(t)}))
	if err != nil {
		t.Fatalf("life %d: %v", life, err)
	}
	st := readStore(t, s, devices, n)
	holds(t, s)
	if d.all && (st.refused > 0 || st.refusedItems > 0) {
		t.Errorf("life %d: %+v; %v %+v", life, st, r.damaged, s.Losses())
	}
	if !d.all && life == 0 && !r.any() {
		t.Error("no damage was reported")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return st
}

// fileDamages returns ways to damage each kind of file of Pebble, and the two copies of the catalog. The
// arguments are the indexes of the largest and the smallest file with data, in the order of decreasing
// size.
func fileDamages(largest, smallest int) []fileDamage {
	truncate := edited(func(data []byte) []byte { return data[:len(data)/2] })
	zero := edited(func(data []byte) []byte { return make([]byte, len(data)) })
	empty := edited(func([]byte) []byte { return nil })
	middle := edited(func(data []byte) []byte { data[len(data)/2] ^= 4; return data })
	lastRecord := edited(func(data []byte) []byte { data[len(bytes.TrimRight(data, "\x00"))-3] ^= 4; return data })
	return []fileDamage{
		{name: "sst truncated", at: largest, do: truncate},
		{name: "sst zeroed", at: largest, do: zero},
		{name: "sst empty", at: largest, do: empty},
		{name: "sst deleted", at: largest, do: removeFile},
		{name: "sst swapped", at: largest, do: swapFile},
		{name: "small sst deleted", at: smallest, do: removeFile},
		{name: "manifest middle", glob: "MANIFEST-*", do: middle, all: true},
		{name: "manifest last record", glob: "MANIFEST-*", do: lastRecord, all: true},
		{name: "manifest truncated", glob: "MANIFEST-*", do: truncate, all: true},
		{name: "manifest zeroed", glob: "MANIFEST-*", do: zero, all: true},
		{name: "manifest deleted", glob: "MANIFEST-*", do: removeFile, all: true},
		{name: "marker deleted", glob: "marker.manifest.*", do: removeFile, all: true},
		{name: "format marker deleted", glob: "marker.format*", do: removeFile, all: true},
		{name: "options middle", glob: "OPTIONS-*", do: middle, all: true},
		{name: "options zeroed", glob: "OPTIONS-*", do: zero, all: true},
		{name: "options deleted", glob: "OPTIONS-*", do: removeFile, all: true},
		{name: "catalog", glob: "../CATALOG", do: zero, all: true},
		{name: "catalog copy", glob: "../CATALOG.copy", do: removeFile, all: true},
	}
}

func edited(change func([]byte) []byte) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		edit(t, path, change)
	}
}

func removeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// swapFile replaces a Pebble file with a copy of another one.
func swapFile(t *testing.T, path string) {
	t.Helper()
	for _, other := range ssts(t, filepath.Dir(filepath.Dir(path))) {
		if other != path {
			data, err := os.ReadFile(other)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}
