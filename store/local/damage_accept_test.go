package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/local/sst"
)

// damageBlock flips a bit in a Pebble file, in the data block that contains a key. It reports whether the
// file contains the key. It finds the data block by trials on copies of the file.
func damageBlock(t *testing.T, path string, key []byte) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !hasKey(t, data, key) {
		return false
	}
	for at := len(data) - 1; at > 0; at -= 50 { // backward, because the items are after the chunks
		damaged := bytes.Clone(data)
		damaged[at] ^= 1
		if !hasKey(t, damaged, key) && restIntact(t, damaged) {
			flip(t, path, int64(at))
			return true
		}
	}
	t.Fatalf("no block of %s has %q", path, key)
	return false
}

// hasKey reports whether a key can be read in a file.
func hasKey(t *testing.T, data, key []byte) bool {
	t.Helper()
	file := openData(t, data)
	if file == nil {
		return false
	}
	defer file.Close()
	scan, err := file.Scan(key, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer scan.Close()
	ok, err := scan.Next()
	if err != nil {
		t.Fatal(err)
	}
	return ok && bytes.Equal(scan.Entry().Key, key)
}

// restIntact reports whether a file is intact except for its entries.
func restIntact(t *testing.T, data []byte) bool {
	t.Helper()
	file := openData(t, data)
	if file == nil {
		return false
	}
	defer file.Close()
	return file.CheckRest() == nil
}

// openData opens a file of Pebble with the given content. If the file cannot be opened, it returns nil.
func openData(t *testing.T, data []byte) *sst.File {
	t.Helper()
	fs := vfs.NewMem()
	f, err := fs.Create("x.sst", vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest}
	o.EnsureDefaults()
	file, err := sst.Open(fs, "x.sst", o)
	if err != nil {
		return nil
	}
	return file
}

// TestDamage_ItemsFailClosed checks that every read and write of items in a lost range is
// refused until the loss is accepted. Afterward, the items must be absent, and no older version
// may reappear.
func TestDamage_ItemsFailClosed(t *testing.T) {
	t.Parallel()
	const devices, n = 4, 2500
	dir := filled(t, devices, n)
	// Write the items once more, into a newer file. The older file has the previous versions.
	s := open(t, small(local.Options{Dir: dir}))
	for i := range devices {
		if err := s.Put(t.Context(), item(i, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	paths := ssts(t, dir)
	slices.Sort(paths)
	slices.Reverse(paths)
	for _, path := range paths {
		if damageBlock(t, path, []byte("iP\x00\x01k001\x00\x01")) {
			break
		}
	}
	var r reports
	s = open(t, small(local.Options{Dir: dir, Events: r.events(t)}))
	for life := range 2 {
		checkItemsRefused(t, s, devices, life)
		if len(s.Losses()) == 0 {
			t.Error("no losses")
		}
		if life == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, small(local.Options{Dir: dir, Events: r.events(t)}))
		}
	}
	checkItemsAfterAccept(t, s)
	for i := range devices {
		if got := len(all(t, s, week(t, 0), device(i))); got != n {
			t.Errorf("%s: %d readings", device(i), got)
		}
	}
}

// checkItemsRefused checks that each read and write that includes the lost item 1 is refused. The
// argument "absent" is the number of a missing item. Some writes include it next to item 1.
func checkItemsRefused(t *testing.T, s *local.Store, absent, life int) {
	t.Helper()
	refusals := map[string]error{}
	_, refusals["get"] = s.Get(t.Context(), []store.Key{item(1, 1).Key}, true)
	_, refusals["query"] = s.Query(t.Context(), store.ItemQuery{PK: "P"})
	_, refusals["query of the new places"] = s.Query(t.Context(), store.ItemQuery{PK: "g2", Index: store.GSI1})
	refusals["put"] = s.Put(t.Context(), item(1, 3))
	refusals["put if absent"] = s.Put(t.Context(), item(1, 3), store.IfAbsent())
	refusals["put all"] = s.PutAll(t.Context(), []store.Item{item(1, 3)})
	refusals["put several"] = s.PutAll(t.Context(), []store.Item{item(1, 3), item(absent, 3)})
	refusals["apply"] = s.Apply(t.Context(), []store.Change{{Item: item(absent, 3)}, {Item: item(1, 3), Conds: []store.Cond{store.IfAbsent()}}})
	_, refusals["put several if absent"] = s.PutAbsent(t.Context(), []store.Item{item(absent, 3), item(1, 3)})
	refusals["delete"] = s.Delete(t.Context(), item(1, 1).Key)
	refusals["delete all"] = s.DeleteAll(t.Context(), []store.Key{item(1, 1).Key})
	for what, err := range refusals {
		if !errors.Is(err, store.ErrDamaged) || varve.FailureOf(err) != varve.Damaged {
			t.Errorf("life %d: %s: %v, want it refused", life, what, err)
		}
	}
}

// checkItemsAfterAccept accepts the losses, and writes a new item 2 with the acceptance. It checks that
// item 2 is then the only item, and that item 1 can be written again.
func checkItemsAfterAccept(t *testing.T, s *local.Store) {
	t.Helper()
	mark := store.Item{Key: item(2, 1).Key, Attrs: map[string]varve.Value{"on": varve.BoolValue(true)}}
	accepted, err := s.AcceptLosses(t.Context(), mark)
	if err != nil || len(accepted) == 0 || len(s.Losses()) != 0 {
		t.Fatalf("accept: %+v, %v; left %+v", accepted, err, s.Losses())
	}
	page, err := s.Query(t.Context(), store.ItemQuery{PK: "P"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Attrs["on"].Kind() != varve.KindBool {
		t.Errorf("after the loss was accepted: %+v, %v", page.Items, err)
	}
	for _, pk := range []string{"g1", "g2"} {
		if page, err := s.Query(t.Context(), store.ItemQuery{PK: pk, Index: store.GSI1}); err != nil || len(page.Items) > 0 {
			t.Errorf("index %s: %+v, %v", pk, page.Items, err)
		}
	}
	if err := s.Put(t.Context(), item(1, 3)); err != nil {
		t.Error(err)
	}
}

// TestDamage_WritesAreRefusedOneByOne checks that only readings that may repeat lost ones are refused. After
// the loss is accepted, a rewrite of the lost readings must succeed, and the table must count each once.
func TestDamage_WritesAreRefusedOneByOne(t *testing.T) {
	t.Parallel()
	const devices, n = 6, 5000
	dir := filled(t, devices, n)
	path := ssts(t, dir)[0]
	flip(t, path, within(t, path))
	var r reports
	s := open(t, small(local.Options{Dir: dir, Events: r.events(t)}))
	bad := -1
	for i := range devices {
		if _, err := readAll(t, s, week(t, 0), device(i)); err != nil {
			bad = i
		}
	}
	if bad < 0 {
		t.Fatal("nothing was hit")
	}
	again := noisy(t, nil, device(bad), n)
	fresh := readings(t, week(t, 0), "fresh", 10)
	result := s.Write(t.Context(), []store.Batch{{Table: week(t, 0), Readings: append(append([]varve.Reading{}, again...), fresh...)}})[0]
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	duplicates := countDuplicates(t, result.Verdicts, n)
	// Readings after all lost ones can be written.
	later := readings(t, week(t, 0), device(bad), n+5)[n:]
	write(t, s, week(t, 0), later, varve.Stored)
	if _, err := s.AcceptLosses(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := len(all(t, s, week(t, 0), device(bad)))
	if left >= n+5 || left < duplicates {
		t.Errorf("%d readings are left, %d were found", left, duplicates)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, small(local.Options{Dir: dir}))
	result = s.Write(t.Context(), []store.Batch{{Table: week(t, 0), Readings: again}})[0]
	tally := map[varve.Outcome]int{}
	for _, v := range result.Verdicts {
		tally[v.Outcome]++
	}
	if result.Err != nil || tally[varve.Rejected] > 0 || tally[varve.Duplicate] != left-5 {
		t.Errorf("written again: %v, %v; %d were left", tally, result.Err, left)
	}
	infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime(), Details: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range infos {
		if in.Table == week(t, 0) && in.Readings != devices*n+10+5 {
			t.Errorf("the table has %d readings, want %d", in.Readings, devices*n+10+5)
		}
	}
}

// countDuplicates counts the duplicates among the first n verdicts. The others of the first n must
// be rejected as damaged, and all later readings must be stored.
func countDuplicates(t *testing.T, verdicts []varve.Verdict, n int) (duplicates int) {
	t.Helper()
	refused := 0
	for i, v := range verdicts {
		switch {
		case i >= n && v.Outcome == varve.Stored:
		case i < n && v.Outcome == varve.Duplicate:
			duplicates++
		case i < n && v.Outcome == varve.Rejected && v.Code == varve.CodeDamaged && !v.Code.Retryable():
			refused++
		default:
			t.Fatalf("reading %d is %v", i, v)
		}
	}
	if refused == 0 || refused > 1500 || duplicates+refused != n {
		t.Errorf("%d were refused, %d are duplicates", refused, duplicates)
	}
	return duplicates
}

// TestDamage_CompactionContinues checks that a compaction sets damage aside and continues, and
// that the store accepts writes.
func TestDamage_CompactionContinues(t *testing.T) {
	t.Parallel()
	const n = 4000
	dir := filled(t, 3, n)
	for life := range 2 {
		s := open(t, small(local.Options{Dir: dir}))
		noisy(t, s, fmt.Sprintf("more%d", life), n)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	paths := ssts(t, dir)
	for _, path := range paths {
		flip(t, path, sizeOf(t, path)/3)
	}
	var r reports
	s := open(t, small(local.Options{Dir: dir, MemtableBytes: 128 << 10, Events: r.events(t)}))
	for i := range 8 {
		noisy(t, s, fmt.Sprintf("busy%d", i), n)
	}
	if err := s.Compact(t.Context()); err != nil && !errors.Is(err, store.ErrDamaged) && !pebble.IsCorruptionError(err) {
		t.Fatal(err)
	}
	eventually(t, "the damage is set aside", func() bool { return len(s.Losses()) > 0 })
	eventually(t, "the compaction succeeds", func() bool { return s.Compact(t.Context()) == nil })
	for i := range 8 {
		if got := len(all(t, s, week(t, 0), fmt.Sprintf("busy%d", i))); got != n {
			t.Errorf("busy%d: %d readings", i, got)
		}
	}
	readStore(t, s, 3, n)
}

// TestVerify_NamesDamage checks that CheckPebble and Verify report damaged files. For an intact
// folder, CheckPebble reports nothing.
func TestVerify_NamesDamage(t *testing.T) {
	t.Parallel()
	dir := filled(t, 4, 4000)
	check := func(dir string) (found []local.Problem) {
		t.Helper()
		if err := local.CheckPebble(t.Context(), dir, 0, func(p local.Problem) { found = append(found, p) }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := check(dir); len(found) > 0 {
		t.Fatalf("of a whole folder: %+v", found)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range 6 {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		path := ssts(t, copied)[0]
		at := rng.Int64N(sizeOf(t, path))
		flip(t, path, at)
		found := check(copied)
		if len(found) != 1 || filepath.Base(found[0].File) != filepath.Base(path) {
			t.Errorf("round %d, byte %d: %+v", round, at, found)
		}
		var r reports
		s := open(t, small(local.Options{Dir: copied, Events: r.events(t)}))
		found = nil
		if err := s.Verify(t.Context(), local.Pace{}, func(p local.Problem) { found = append(found, p) }); err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 && len(s.Losses()) == 0 && !r.any() {
			t.Errorf("round %d, byte %d: an open store finds nothing", round, at)
		}
		eventually(t, "what was found is set aside", func() bool {
			found = nil
			err := s.Verify(t.Context(), local.Pace{}, func(p local.Problem) { found = append(found, p) })
			return err == nil && len(found) == len(s.Losses()) // each loss is reported until it is accepted
		})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerify_PassesOverMergedFiles checks that files that are merged during a verification are not
// reported as damage.
func TestVerify_PassesOverMergedFiles(t *testing.T) {
	var r reports
	s := open(t, local.Options{Dir: filled(t, 2, 3000), MinFree: -1, Events: r.events(t)})
	merged := false
	err := s.Verify(t.Context(), local.Pace{Read: func(int64) {
		if merged {
			return
		}
		merged = true
		old := ssts(t, s.Dir())
		if err := s.Rewrite(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "merged files are removed", func() bool {
			return !slices.ContainsFunc(ssts(t, s.Dir()), func(path string) bool { return slices.Contains(old, path) })
		})
	}}, func(p local.Problem) { t.Errorf("%+v", p) })
	if err != nil || !merged || r.any() {
		t.Errorf("%v, merged %t, reported %t", err, merged, r.any())
	}
}
