package local_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// erasureOf returns an erasure of the readings of a device in the table of e. It covers readings that
// arrived at or before the time in the variable "arrived".
func erasureOf(e *expiring, device string) store.Erasure {
	return store.Erasure{
		Table: e.table, Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: device}, Window: varve.AllTime(), Arrived: arrived,
	}
}

// secret returns readings with one long random text each, and these texts.
func secret(t *testing.T, e *expiring, device string, n int) (list []varve.Reading, texts []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	list = readings(t, e.table, device, n)
	for i := range list {
		text := make([]byte, 200)
		for j := range text {
			text[j] = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"[rng.IntN(64)]
		}
		texts = append(texts, string(text))
		list[i].Fields = []varve.Field{{Name: "text", Value: varve.StringValue(string(text))}}
		list[i].ID = varve.ID{}
		if v := list[i].Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
	}
	return list, texts
}

// filesWith returns the files below a folder that contain a text.
func filesWith(t *testing.T, fs vfs.FS, dir, text string) (paths []string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		in, err := fs.Stat(path)
		switch {
		case err != nil:
			continue // the file was deleted meanwhile
		case in.IsDir():
			paths = append(paths, filesWith(t, fs, path, text)...)
		case bytes.Contains([]byte(textOf(t, fs, path)), []byte(text)):
			paths = append(paths, path)
		}
	}
	return paths
}

// TestErase_RemovesBytes erases readings that are in the journal, in memory and in chunks. Then no
// file may have a part of their text, before and after a restart. Other readings must stay.
func TestErase_RemovesBytes(t *testing.T) {
	e := newExpiring(t)
	list, texts := secret(t, e, "x", 400)
	write(t, e.Store, e.table, list[:300], varve.Stored)
	e.reopen()
	write(t, e.Store, e.table, list[300:], varve.Stored)
	disk := e.options.FS
	part := func(i int) string { return texts[i][20:60] }
	found := 0
	for i := range texts {
		if len(filesWith(t, disk, "data", part(i))) > 0 {
			found++
		}
	}
	if found < 100 { // compressed blocks hide some of the texts
		t.Fatalf("only %d texts are found in the files before", found)
	}
	if n, err := e.Erase(t.Context(), erasureOf(e, "x")); n != 400 || err != nil {
		t.Fatalf("%d readings were erased: %v", n, err)
	}
	for life := range 2 {
		for i := range texts {
			i := i
			eventually(t, "the text is gone", func() bool { return len(filesWith(t, disk, "data", part(i))) == 0 })
		}
		if got := all(t, e.Store, e.table, "x"); len(got) != 0 {
			t.Errorf("life %d: %d readings are left", life, len(got))
		}
		if a, b := all(t, e.Store, e.table, "a"), all(t, e.Store, e.table, "b"); len(a) != 5000 || !slices.EqualFunc(b, e.free, equal) {
			t.Errorf("life %d: device a has %d readings, b %d", life, len(a), len(b))
		}
		e.reopen()
	}
	write(t, e.Store, e.table, list[:10], varve.Stored)
	e.close()
}

func equal(a, b varve.Reading) bool { return a.Equal(&b) }

// TestPurgeItems_RemovesBytes deletes and purges an item. Then no file may have its attributes, and after two
// restarts, no file may have its keys.
func TestPurgeItems_RemovesBytes(t *testing.T) {
	e := newExpiring(t)
	_, texts := secret(t, e, "x", 2)
	gone := store.Item{Key: store.Key{PK: "DEVICE#x", SK: "LOG"}, GSI1: store.Key{PK: "G", SK: texts[1]}, Attrs: map[string]varve.Value{"m": varve.StringValue(texts[0])}}
	other := item(1, 1)
	if err := errors.Join(e.Put(t.Context(), gone), e.Put(t.Context(), other)); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if len(filesWith(t, e.options.FS, "data", text[20:60])) == 0 {
			t.Fatal("no file has the item")
		}
	}
	e.reopen()
	if err := errors.Join(e.Delete(t.Context(), gone.Key), e.PurgeItems(t.Context(), []string{"DEVICE#x"})); err != nil {
		t.Fatal(err)
	}
	without := func(text string) func() bool {
		return func() bool { return len(filesWith(t, e.options.FS, "data", text[20:60])) == 0 }
	}
	eventually(t, "the attribute is gone", without(texts[0]))
	e.reopen()
	e.reopen() // Pebble still has one earlier list of files
	eventually(t, "the key is gone", without(texts[1]))
	if items, err := e.Get(t.Context(), []store.Key{other.Key}, true); err != nil || len(items) != 1 {
		t.Errorf("the other item: %v, %v", items, err)
	}
	e.close()
}

// TestErase_SurvivesPowerCuts cuts the power during an erasure, and during a later write of some
// erased readings. After the erasure, the series may have only readings of this write. No reading
// of the other series may be lost.
func TestErase_SurvivesPowerCuts(t *testing.T) {
	const n = 300
	mem := vfs.NewCrashableMem()
	c := &stages{mem: mem}
	opts := local.Options{Dir: "data", FS: errorfs.Wrap(mem, c), MinFree: -1, MemtableBytes: 3000, JournalBytes: 2000, ChunkReadings: 20, MaxLevel0: 3}
	s := open(t, opts)
	e := &expiring{T: t, Store: s, table: week(t, 0)}
	create(t, s, e.table)
	a, b := readings(t, e.table, "a", n), readings(t, e.table, "b", n)
	for i := 0; i < n; i += 10 {
		write(t, s, e.table, a[i:i+10], varve.Stored)
		write(t, s, e.table, b[i:i+10], varve.Stored)
	}
	c.enter("erasing")
	if got, err := s.Erase(t.Context(), erasureOf(e, "a")); got != n || err != nil {
		t.Fatalf("%d readings were erased: %v", got, err)
	}
	c.enter("erased")
	write(t, s, e.table, a[:20], varve.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i, at := range c.cuts {
		count[at.stage]++
		opts.FS = at.fs
		e.Store = open(t, opts)
		if got := all(t, e.Store, e.table, "b"); !slices.EqualFunc(got, b, equal) {
			t.Fatalf("cut %d while %s: device b has %d readings", i, at.stage, len(got))
		}
		left := len(all(t, e.Store, e.table, "a"))
		if at.stage == "erased" && left > 20 {
			t.Fatalf("cut %d after the erasure: device a has %d readings", i, left)
		}
		if got, err := e.Erase(t.Context(), erasureOf(e, "a")); got != int64(left) || err != nil {
			t.Fatalf("cut %d while %s: %d of %d readings were erased: %v", i, at.stage, got, left, err)
		}
		if left = len(all(t, e.Store, e.table, "a")); left != 0 {
			t.Fatalf("cut %d while %s: %d readings are left", i, at.stage, left)
		}
		e.close()
	}
	if count["erasing"] < 5 || count["erased"] < 3 {
		t.Errorf("power cuts %v, want more", count)
	}
}

// TestErase_RemovesFlushedSegmentsFirst makes the removal of a flushed segment fail. Erase must then
// fail before it erases readings, because a replay of the segment would return them after a crash.
func TestErase_RemovesFlushedSegmentsFirst(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var full atomic.Bool
	var chains atomic.Int64 // writes of the chain while the disk is full
	disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		isChain := op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "CHAIN")
		if isChain && full.Load() && chains.Add(1) > 1 { // the first write adds the next segment
			return syscall.ENOSPC
		}
		return nil
	}))
	opts := local.Options{Dir: "data", FS: disk, MinFree: -1}
	e := &expiring{T: t, Store: open(t, opts), table: week(t, 0)}
	create(t, e.Store, e.table)
	write(t, e.Store, e.table, readings(t, e.table, "a", 10), varve.Stored)
	full.Store(true)
	for range 2 {
		if n, err := e.Erase(t.Context(), erasureOf(e, "a")); err == nil {
			t.Fatalf("%d readings were erased, although the journal has them", n)
		}
	}
	full.Store(false)
	if n, err := e.Erase(t.Context(), erasureOf(e, "a")); n != 10 || err != nil {
		t.Fatalf("%d of 10 readings were erased: %v", n, err)
	}
	opts.FS = mem.CrashClone(vfs.CrashCloneCfg{})
	e.close()
	e.Store = open(t, opts)
	if left := all(t, e.Store, e.table, "a"); len(left) != 0 {
		t.Errorf("%d erased readings exist after a crash", len(left))
	}
	e.close()
}

// stages cuts the power before writes and syncs, and records the stage of each cut. Before the
// first stage, it cuts nothing.
type stages struct {
	mem   *vfs.MemFS
	mu    sync.Mutex
	stage string
	cuts  []stageCut
}

type stageCut struct {
	fs    *vfs.MemFS
	stage string
}

func (s *stages) enter(stage string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage = stage
}

func (s *stages) MaybeError(op errorfs.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || s.stage == "" || len(s.cuts) > 200 {
		return nil
	}
	unsynced := len(s.cuts) % 3 * 50
	rng := rand.New(rand.NewPCG(uint64(len(s.cuts)), 1))
	s.cuts = append(s.cuts, stageCut{s.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rng}), s.stage})
	return nil
}

func (s *stages) String() string { return "stages" }

// TestErase_LeavesConcurrentWrites writes readings of two series while one of them is erased
// repeatedly. All readings of the other series must stay. Readings of the erased series must stay if
// they arrived after the latest arrival that the erasure covers.
func TestErase_LeavesConcurrentWrites(t *testing.T) {
	opts := small(local.Options{Dir: "data", FS: vfs.NewMem(), MemtableBytes: 20_000})
	s := open(t, opts)
	e := &expiring{T: t, Store: s, table: week(t, 0)}
	defer e.close()
	create(t, s, e.table)
	a, b := readings(t, e.table, "a", 3000), readings(t, e.table, "b", 3000)
	for i := range a {
		if i%2 == 0 {
			a[i].Arrived = arrived.Add(time.Second)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	erasures := 0
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Erase(t.Context(), erasureOf(e, "a")); err != nil {
				t.Error(err)
				return
			}
			erasures++
		}
	})
	for i := 0; i < len(a); i += 25 {
		write(t, s, e.table, a[i:i+25], varve.Stored)
		write(t, s, e.table, b[i:i+25], varve.Stored)
	}
	stop()
	wg.Wait()
	if _, err := s.Erase(t.Context(), erasureOf(e, "a")); err != nil || erasures == 0 {
		t.Fatalf("after %d erasures: %v", erasures, err)
	}
	want := slices.DeleteFunc(slices.Clone(a), func(r varve.Reading) bool { return !r.Arrived.After(arrived) })
	if got := all(t, s, e.table, "a"); !slices.EqualFunc(got, want, equal) {
		t.Errorf("device a has %d readings, want %d", len(got), len(want))
	}
	if got := all(t, s, e.table, "b"); !slices.EqualFunc(got, b, equal) {
		t.Errorf("device b has %d readings, want %d", len(got), len(b))
	}
	latest, found, _, err := s.Latest(t.Context(), store.Latest{Table: e.table, Series: a[0].Series, By: varve.ByEvent})
	if last := want[len(want)-1]; err != nil || !found || !latest.Equal(&last) {
		t.Errorf("latest %v, want %v: %v", latest, last, err)
	}
}
