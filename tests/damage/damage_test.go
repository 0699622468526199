package damage_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

var (
	cases  = flag.Int("damages", 0, "number of damages; 0 means 80, or 24 with -short")
	within = flag.Duration("within", 0, "time after which no further damage begins; 0 means no limit")
)

func isDamaged(err error) bool { return errors.Is(err, store.ErrDamaged) }

// TestDamage_IsContainedFoundAndRepaired damages files of stores at random. No process ends, no
// wrong value is served, and no data is silently missing. Verify finds the damage. After a
// repair, the store verifies and lacks only reported data.
func TestDamage_IsContainedFoundAndRepaired(t *testing.T) {
	n := *cases
	switch {
	case n > 0:
	case testing.Short():
		n = 24
	default:
		n = 80
	}
	list := worlds()
	begin, done := time.Now(), 0
	for i := range list {
		w := &list[i]
		dir := made(t, w)
		// Each world has a share of the time.
		share := *within * time.Duration(i+1) / time.Duration(len(list))
		t.Run(w.name, func(t *testing.T) {
			for seed := range n / len(list) {
				if *within > 0 && time.Since(begin) > share {
					break
				}
				t.Run(fmt.Sprint(seed), func(t *testing.T) { w.damageOnce(t, dir, uint64(seed)) })
				done++
			}
		})
	}
	t.Logf("%d damages of %d were tried", done, n)
}

// damageOnce damages one file in a copy of the store.
func (w *world) damageOnce(t *testing.T, from string, seed uint64) {
	hash := fnv.New64()
	_, _ = hash.Write([]byte(w.name)) // never fails
	rng := rand.New(rand.NewPCG(seed, hash.Sum64()))
	dir := copied(t, from)
	in := injure(t, rng, dir)
	defer func() {
		if t.Failed() {
			t.Logf("after: %s", in)
		}
	}()
	was := sum(t, dir)
	found := verify(t, dir)
	if sum(t, dir) != was {
		t.Error("verify changed something")
	}
	harmed := w.serve(t, copied(t, dir))
	if harmed && len(found) == 0 {
		t.Error("something cannot be read, and verify found nothing")
	}
	w.repair(t, dir, len(found) > 0)
}

// serve opens a damaged store and compares its data. It reports whether the start or any data
// was refused.
func (w *world) serve(t *testing.T, dir string) (harmed bool) {
	t.Helper()
	var recovery local.Recovery
	opts := w.options(dir)
	opts.Events.Recovered = func(r local.Recovery) { recovery = r }
	opts.Events.Fatal = func(msg string) { t.Errorf("the process would end: %s", msg) }
	s, err := local.Open(opts)
	if err != nil {
		if !isDamaged(err) || !strings.Contains(err.Error(), "varve repair") {
			t.Errorf("refused without a way on: %v", err)
		}
		return true
	}
	bytes, _ := recovery.TornBytes()
	refused, _, _ := w.compare(t, s, bytes > 0)
	if err := s.Close(); err != nil && !isDamaged(err) {
		t.Errorf("close: %v", err)
	}
	return refused > 0
}

// repair repairs a damaged store and compares the remaining data.
func (w *world) repair(t *testing.T, dir string, needed bool) {
	t.Helper()
	var losses []local.Loss
	torn := int64(0)
	opts := w.options(dir)
	opts.Salvage = true
	opts.Events.Lost = func(l []local.Loss) { losses = append(losses, l...) }
	opts.Events.Recovered = func(r local.Recovery) { torn, _ = r.TornBytes() }
	s, err := local.Open(opts)
	if err != nil {
		t.Errorf("repair: %v", err)
		return
	}
	if err := s.Verify(t.Context(), local.Pace{}, func(local.Problem) {}); err != nil {
		t.Errorf("repair: verify: %v", err)
	}
	accepted, err := s.AcceptLosses(t.Context())
	if err != nil {
		t.Errorf("repair: accept: %v", err)
	}
	losses = append(losses, accepted...)
	if err := s.Close(); err != nil {
		t.Errorf("repair: close: %v", err)
	}
	if left := verify(t, dir); len(left) > 0 {
		t.Errorf("repaired, and does not verify: %v", left)
	}
	opts = w.options(dir)
	if s, err = local.Open(opts); err != nil {
		t.Errorf("repaired, and does not start: %v", err)
		return
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	refused, missing, lost := w.compare(t, s, true)
	if refused > 0 {
		t.Errorf("repaired, and refuses %d reads", refused)
	}
	if len(missing)+len(lost) > 0 && len(losses) == 0 && torn == 0 {
		t.Errorf("%d readings and %d items are lost without a word (damage found: %v)", len(missing), len(lost), needed)
	}
	for i := range missing {
		if !slices.ContainsFunc(losses, func(l local.Loss) bool { return names(&l, w, &missing[i]) }) && torn == 0 {
			t.Errorf("%s at %s is lost, and is in none of %v", missing[i].Device, missing[i].Time, losses)
			return
		}
	}
	if len(lost) > 0 && torn == 0 && !slices.ContainsFunc(losses, func(l local.Loss) bool { return l.Items || l.Segment > 0 || l.Table == "" }) {
		t.Errorf("%d items are lost, and none is named in %v", len(lost), losses)
	}
}

// names reports whether a loss includes a reading.
func names(l *local.Loss, w *world, r *varve.Reading) bool {
	if l.Items || l.Catalog {
		return false
	}
	if l.Table == "" {
		return true // a loss of the journal, with unknown series
	}
	at := slices.IndexFunc(w.tables, func(t grid.Table) bool { return t.Contains(r.Time) })
	inTable := at >= 0 && w.tables[at].Name() == l.Table
	after := l.First.Device == "" || l.First.Device <= r.Device
	before := l.Last.Device == "" || r.Device <= l.Last.Device
	return inTable && after && before
}

// verify returns the findings of a verification.
func verify(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := local.CheckFolder(t.Context(), dir, 0, func(p local.Problem) { found = append(found, fmt.Sprintf("%s: %v", p.File, p.Err)) })
	if err != nil {
		t.Errorf("verify: %v", err)
	}
	return found
}

// sum returns a checksum of the names and contents of a folder.
func sum(t *testing.T, dir string) uint64 {
	t.Helper()
	hash := fnv.New64a()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(hash, "%s %d %x\n", path, len(data), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hash.Sum64()
}
