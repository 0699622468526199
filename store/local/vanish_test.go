package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// killed returns a folder after a kill. Pebble has readings and one item. Only the journal has 200
// readings of "d" and the items p/0 to p/4.
func killed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	tb := week(t, 0)
	s := open(t, local.Options{Dir: dir})
	create(t, s, tb)
	write(t, s, tb, readings(t, tb, "old", 100), varve.Stored)
	putItem(t, s, "old")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, local.Options{Dir: dir})
	for i := range 5 {
		putItem(t, s, fmt.Sprint(i))
		list := readings(t, tb, "d", 200)
		write(t, s, tb, list[40*i:40*i+40], varve.Stored)
	}
	return copyOf(t, dir)
}

// copyOf copies a folder, as a kill would leave it. If files vanish meanwhile because Pebble
// removes them, copyOf starts over.
func copyOf(t *testing.T, dir string) (left string) {
	t.Helper()
	eventually(t, "no file vanishes while it is copied", func() bool {
		left = t.TempDir()
		return os.CopyFS(left, os.DirFS(dir)) == nil
	})
	return left
}

func putItem(t *testing.T, s *local.Store, sk string) {
	t.Helper()
	it := store.Item{Key: store.Key{PK: "p", SK: sk}, GSI1: store.Key{PK: "g", SK: sk}}
	if err := s.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
}

// itemsOf returns the sort keys of the items in partition g of the first secondary index.
func itemsOf(t *testing.T, s *local.Store) (keys []string) {
	t.Helper()
	page, err := s.Query(t.Context(), store.ItemQuery{Index: store.GSI1, PK: "g"})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range page.Items {
		keys = append(keys, it.SK)
	}
	return keys
}

var everything = []string{"0", "1", "2", "3", "4", "old"}

// whole checks that a store has all data that the function "killed" has written.
func whole(t *testing.T, s *local.Store) {
	t.Helper()
	if keys := itemsOf(t, s); !slices.Equal(keys, everything) {
		t.Errorf("items %q are left, want %q", keys, everything)
	}
	for device, want := range map[string]int{"old": 100, "d": 200} {
		if n := len(all(t, s, week(t, 0), device)); n != want {
			t.Errorf("%d readings of %s are left, want %d", n, device, want)
		}
	}
}

func only(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	return paths[len(paths)-1]
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// used returns the length of data without trailing zeros.
func used(data []byte) int { return len(bytes.TrimRight(data, "\x00")) }

func removeAll(t *testing.T, dir string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err := os.RemoveAll(filepath.Join(dir, part)); err != nil {
			t.Fatal(err)
		}
	}
}

type folderDamage struct {
	reason string
	harm   func(t *testing.T, dir string)
}

// folderDamages returns ways to damage a folder that a crash cannot cause.
func folderDamages() []folderDamage {
	return []folderDamage{
		{"middle of the log of changes flipped", flipLogs},
		{"middle of the journal flipped", changesJournal(func(d []byte) []byte { d[used(d)/3] ^= 0xff; return d })},
		{"header overwritten", changesJournal(func(d []byte) []byte { copy(d, "something else"); return d })},
		{"last segment emptied", changesJournal(func([]byte) []byte { return nil })},
		{"last segment cut in the middle", changesJournal(func(d []byte) []byte { return d[:used(d)/2] })},
		{"last segment deleted", func(t *testing.T, dir string) {
			if err := os.Remove(only(t, filepath.Join(dir, "journal/*.journal"))); err != nil {
				t.Fatal(err)
			}
		}},
		{"journal deleted", deletes("journal")},
		{"journal emptied", empties("journal")},
		{"pebble deleted", deletes("pebble")},
		{"pebble emptied", empties("pebble")},
		{"journal and pebble deleted", deletes("journal", "pebble")},
		{"chain deleted", deletes("journal/CHAIN.0", "journal/CHAIN.1")},
		{"newest chain deleted", deletes("journal/CHAIN.1")},
		{"older chain deleted", deletes("journal/CHAIN.0")},
		{"VARVE deleted", deletes("VARVE")},
		{"VARVE emptied", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "VARVE"), func([]byte) []byte { return nil })
		}},
		{"VARVE flipped", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "VARVE"), func(d []byte) []byte { d[len(d)/2] ^= 1; return d })
		}},
		{"VARVE and journal deleted", deletes("VARVE", "journal")},
		{"journal of another store", replaces("journal")},
		{"pebble of another store", replaces("pebble")},
	}
}

// flipLogs flips bits in Pebble's logs. Only a store of format 1 has logs that are not empty.
func flipLogs(t *testing.T, dir string) {
	paths, err := filepath.Glob(filepath.Join(dir, "pebble/*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		edit(t, path, func(d []byte) []byte {
			if n := used(d); n > 0 {
				d[n/3] ^= 0xff
			}
			return d
		})
	}
}

func changesJournal(change func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		edit(t, only(t, filepath.Join(dir, "journal/*.journal")), change)
	}
}

func deletes(parts ...string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		removeAll(t, dir, parts...)
	}
}

func empties(part string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		removeAll(t, dir, part)
		if err := os.Mkdir(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// replaces returns a function that replaces a part of a folder with the same part of another store.
func replaces(part string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		removeAll(t, dir, part)
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(killed(t), part))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpen_RefusesHarmedFolder damages a folder in ways that a crash cannot. The folder must
// either be refused as damaged, in one line with the remedy, or have all acknowledged data.
func TestOpen_RefusesHarmedFolder(t *testing.T) {
	for _, c := range folderDamages() {
		t.Run(c.reason, func(t *testing.T) {
			dir := killed(t)
			c.harm(t, dir)
			s, err := local.Open(local.Options{Dir: dir, Events: local.Events{Fatal: func(msg string) { t.Log(msg) }}})
			if err == nil {
				whole(t, s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			t.Log(err)
			if !errors.Is(err, store.ErrDamaged) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "varve repair") {
				t.Errorf("refused without the folder, the remedy or the reason: %v", err)
			}
		})
	}
}

// TestOpen_RecoversKilledStore checks that an undamaged folder has all data after a kill.
func TestOpen_RecoversKilledStore(t *testing.T) {
	whole(t, open(t, local.Options{Dir: killed(t)}))
}
