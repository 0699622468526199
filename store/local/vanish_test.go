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

// killed returns a folder after a kill: readings and items in Pebble, and 200 readings of "d"
// and items p/0 to p/4 only in the journal.
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

// copyOf copies a folder, as a kill would leave it. It starts over if files vanish meanwhile,
// because Pebble removes some.
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

// itemsOf returns the sort keys of the items of p, by the index.
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

// whole fails unless a store has all data of killed.
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

// TestOpen_RefusesHarmedFolder damages a folder in ways that differ from a crash. It is either
// refused as damaged, in one line with the remedy, or has all acknowledged data.
func TestOpen_RefusesHarmedFolder(t *testing.T) {
	log := func(change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, only(t, filepath.Join(dir, "journal/*.journal")), change) }
	}
	cases := []struct {
		reason string
		harm   func(t *testing.T, dir string)
	}{
		{"middle of the log of changes flipped", func(t *testing.T, dir string) {
			paths, err := filepath.Glob(filepath.Join(dir, "pebble/*.log"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths { // without the empty ones, except in format 1
				edit(t, path, func(d []byte) []byte {
					if n := used(d); n > 0 {
						d[n/3] ^= 0xff
					}
					return d
				})
			}
		}},
		{"middle of the journal flipped", log(func(d []byte) []byte { d[used(d)/3] ^= 0xff; return d })},
		{"header overwritten", log(func(d []byte) []byte { copy(d, "something else"); return d })},
		{"last segment emptied", log(func([]byte) []byte { return nil })},
		{"last segment cut in the middle", log(func(d []byte) []byte { return d[:used(d)/2] })},
		{"last segment deleted", func(t *testing.T, dir string) {
			if err := os.Remove(only(t, filepath.Join(dir, "journal/*.journal"))); err != nil {
				t.Fatal(err)
			}
		}},
		{"journal deleted", func(t *testing.T, dir string) { removeAll(t, dir, "journal") }},
		{"journal emptied", func(t *testing.T, dir string) {
			removeAll(t, dir, "journal")
			if err := os.Mkdir(filepath.Join(dir, "journal"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"pebble deleted", func(t *testing.T, dir string) { removeAll(t, dir, "pebble") }},
		{"pebble emptied", func(t *testing.T, dir string) {
			removeAll(t, dir, "pebble")
			if err := os.Mkdir(filepath.Join(dir, "pebble"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"journal and pebble deleted", func(t *testing.T, dir string) { removeAll(t, dir, "journal", "pebble") }},
		{"chain deleted", func(t *testing.T, dir string) { removeAll(t, dir, "journal/CHAIN.0", "journal/CHAIN.1") }},
		{"newest chain deleted", func(t *testing.T, dir string) { removeAll(t, dir, "journal/CHAIN.1") }},
		{"older chain deleted", func(t *testing.T, dir string) { removeAll(t, dir, "journal/CHAIN.0") }},
		{"VARVE deleted", func(t *testing.T, dir string) { removeAll(t, dir, "VARVE") }},
		{"VARVE emptied", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "VARVE"), func([]byte) []byte { return nil })
		}},
		{"VARVE flipped", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "VARVE"), func(d []byte) []byte { d[len(d)/2] ^= 1; return d })
		}},
		{"VARVE and journal deleted", func(t *testing.T, dir string) { removeAll(t, dir, "VARVE", "journal") }},
		{"journal of another store", func(t *testing.T, dir string) {
			removeAll(t, dir, "journal")
			if err := os.CopyFS(filepath.Join(dir, "journal"), os.DirFS(filepath.Join(killed(t), "journal"))); err != nil {
				t.Fatal(err)
			}
		}},
		{"pebble of another store", func(t *testing.T, dir string) {
			removeAll(t, dir, "pebble")
			if err := os.CopyFS(filepath.Join(dir, "pebble"), os.DirFS(filepath.Join(killed(t), "pebble"))); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, c := range cases {
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
