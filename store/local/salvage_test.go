package local_test

import (
	"errors"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSalvage_RecoversUndamagedData checks that a damaged folder opens with Options.Salvage. All
// data except the damaged part must exist, and the damage must be reported. Afterward the folder
// opens without the option.
func TestSalvage_RecoversUndamagedData(t *testing.T) {
	segment := func(dir string) string { return filepath.Join(dir, "journal", "0000000003.journal") }
	cases := []struct {
		reason  string
		harm    func(t *testing.T, dir string)
		says    string
		items   []string // nil means all items
		missing int      // number of missing readings of device d
	}{
		{"VARVE missing", func(t *testing.T, dir string) { removeAll(t, dir, "VARVE") }, "VARVE was missing", nil, 0},
		{"VARVE and chain missing", func(t *testing.T, dir string) { removeAll(t, dir, "VARVE", "journal/CHAIN.0", "journal/CHAIN.1") }, "CHAIN.0 is missing", nil, 0},
		{"name in pebble missing", func(t *testing.T, dir string) { removeAll(t, dir, "pebble/VARVE") }, "pebble/VARVE was missing", nil, 0},
		{"header overwritten", func(t *testing.T, dir string) {
			edit(t, segment(dir), func(d []byte) []byte { copy(d, "something else"); return d })
		}, "header does not check", nil, 0},
		{"frame of readings flipped", func(t *testing.T, dir string) {
			edit(t, segment(dir), func(d []byte) []byte { d[strings.Index(string(d), "default")] ^= 1; return d })
		}, "a frame does not check", nil, 40},
		{"frame of an item flipped", func(t *testing.T, dir string) {
			edit(t, segment(dir), func(d []byte) []byte { d[strings.Index(string(d), "gsi1")] ^= 1; return d })
		}, "a frame does not check", []string{"1", "2", "3", "4", "old"}, 0},
		{"journal missing", func(t *testing.T, dir string) { removeAll(t, dir, "journal") }, "journal was missing", []string{"old"}, 200},
		{"segment missing", func(t *testing.T, dir string) { removeAll(t, dir, "journal/0000000003.journal") }, "is missing", []string{"old"}, 200},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			dir := killed(t)
			c.harm(t, dir)
			refused(t, local.Options{Dir: dir})
			var losses []local.Loss
			s, err := local.Open(local.Options{Dir: dir, Salvage: true, Events: local.Events{Lost: func(l []local.Loss) { losses = l }}})
			if err != nil {
				t.Fatal(err)
			}
			check := func(s *local.Store) {
				t.Helper()
				want := c.items
				if want == nil {
					want = everything
				}
				if keys := itemsOf(t, s); !slices.Equal(keys, want) {
					t.Errorf("items %q are left, want %q", keys, want)
				}
				if n := len(all(t, s, week(t, 0), "d")); n != 200-c.missing {
					t.Errorf("%d readings are left, want %d", n, 200-c.missing)
				}
			}
			check(s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(losses, func(l local.Loss) bool { return strings.Contains(l.Reason, c.says) }) {
				t.Errorf("losses %+v, want %q", losses, c.says)
			}
			check(open(t, local.Options{Dir: dir}))
		})
	}
}

func TestSalvage_KeepsDamagedSegments(t *testing.T) {
	dir := killed(t)
	edit(t, only(t, filepath.Join(dir, "journal", "*.journal")), func(d []byte) []byte { d[used(d)/3] ^= 0xff; return d })
	s := open(t, local.Options{Dir: dir, Salvage: true})
	putItem(t, s, "new")
	if _, err := os.Stat(filepath.Join(dir, "journal", "0000000003.journal.damaged")); err != nil {
		t.Error(err)
	}
}

// TestRecovered_CountsDroppedFrames checks that a store with a damaged last frame opens and
// reports the dropped bytes, because the frame may be a torn write.
func TestRecovered_CountsDroppedFrames(t *testing.T) {
	dir := killed(t)
	var found local.Recovery
	edit(t, only(t, filepath.Join(dir, "journal", "*.journal")), func(d []byte) []byte { d[used(d)-5] ^= 0xff; return d })
	s := open(t, local.Options{Dir: dir, Events: local.Events{Recovered: func(r local.Recovery) { found = r }}})
	if n := len(all(t, s, week(t, 0), "d")); n != 160 || found.Readings != 160 || found.Changes != 5 {
		t.Errorf("%d readings, and told %+v; want 160, and 5 changes", n, found)
	}
	if bytes, frames := found.TornBytes(); bytes < 200 || frames != 1 || !strings.Contains(found.Torn[0].String(), "1 whole frame among them") {
		t.Errorf("torn: %d bytes, %d frames, %v", bytes, frames, found.Torn)
	}
}

// TestSalvage_WithoutPebble checks that a store without pebble/ is refused. With Salvage, it must open,
// report the loss and refuse reads until the loss is accepted. Then it must have the readings of the
// journal and the table of CATALOG, also after a restart.
func TestSalvage_WithoutPebble(t *testing.T) {
	dir := killed(t)
	removeAll(t, dir, "pebble")
	if err := refused(t, local.Options{Dir: dir}); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "pebble is missing") {
		t.Errorf("refused with %v", err)
	}
	var losses []local.Loss
	s, err := local.Open(local.Options{Dir: dir, Salvage: true, Events: local.Events{Lost: func(l []local.Loss) { losses = l }}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(losses, func(l local.Loss) bool {
		return strings.Contains(l.Reason, "pebble was missing") && l.Items && !l.Harmless
	}) {
		t.Errorf("losses %+v, want pebble", losses)
	}
	for _, name := range []string{"old", "d"} {
		if list, err := readAll(t, s, week(t, 0), name); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s before the loss is accepted: %d readings, %v", name, len(list), err)
		}
	}
	accepted, err := s.AcceptLosses(t.Context())
	if err != nil || len(accepted) == 0 {
		t.Fatalf("accepted %+v, %v", accepted, err)
	}
	check := func(s *local.Store) {
		t.Helper()
		for name, want := range map[string]int{"old": 0, "d": 200} {
			if n := len(all(t, s, week(t, 0), name)); n != want {
				t.Errorf("%d readings of %s, want %d", n, name, want)
			}
		}
		if keys := itemsOf(t, s); len(keys) > 5 || slices.Contains(keys, "old") {
			t.Errorf("items %q", keys)
		}
		if len(s.Losses()) > 0 {
			t.Errorf("losses %+v", s.Losses())
		}
		infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime()})
		if err != nil || len(infos) != 1 || infos[0].Readings != 200 {
			t.Errorf("tables %+v, %v", infos, err)
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, local.Options{Dir: dir}))
}
