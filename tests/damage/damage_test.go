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
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

var (
	cases  = flag.Int("damages", 0, "number of damages; 0 means 80, or 24 with -short")
	within = flag.Duration("within", 0, "time after which no further damage begins; 0 means no limit")
)

func isDamaged(err error) bool { return errors.Is(err, store.ErrDamaged) }

// TestDamage_IsContainedFoundAndRepaired damages the files of stores at random. The store must not
// end the process, return a wrong value, or lack data without a report. Verify must find damage that
// changes a table of Pebble or prevents a read. After a repair, Verify must find no damage, and only
// reported data may be missing.
func TestDamage_IsContainedFoundAndRepaired(t *testing.T) {
	n := *cases
	switch {
	case n > 0:
	case testing.Short():
		n = 24
	default:
		n = 80
	}
	list, program := worlds(), buildProgram(t)
	begin, done := time.Now(), 0
	for i := range list {
		w := &list[i]
		whole := newIntact(t, w, made(t, w))
		whole.program = program
		// Each world gets an equal share of the flag -within. Its share ends this long after begin.
		share := *within * time.Duration(i+1) / time.Duration(len(list))
		t.Run(w.name, func(t *testing.T) {
			for seed := range n / len(list) {
				if *within > 0 && time.Since(begin) > share {
					break
				}
				t.Run(fmt.Sprint(seed), func(t *testing.T) { whole.damageOnce(t, uint64(seed)) })
				done++
			}
		})
	}
	t.Logf("%d damages of %d were tried", done, n)
}

// damage is a damaged copy of a store.
type damage struct {
	*intact
	dir     string   // folder of the damaged copy
	changed []string // tables of Pebble that differ from the undamaged ones
}

// damageOnce damages one file in a copy of the store, and checks the copy.
func (in *intact) damageOnce(t *testing.T, seed uint64) {
	hash := fnv.New64()
	_, _ = hash.Write([]byte(in.name)) // never fails
	rng := rand.New(rand.NewPCG(seed, hash.Sum64()))
	d := damage{intact: in, dir: copied(t, in.from)}
	harm := injure(t, rng, d.dir)
	d.changed = in.changedTables(t, d.dir)
	defer func() {
		if t.Failed() {
			t.Logf("after: %s", harm)
		}
	}()
	was := sum(t, d.dir)
	found := verify(t, d.dir)
	d.checkDoctor(t, found)
	if sum(t, d.dir) != was {
		t.Error("verify or doctor changed something")
	}
	harmed := d.serve(t)
	if harmed && len(found) == 0 {
		t.Error("something cannot be read, and verify found nothing")
	}
	if len(d.changed) > 0 && len(found) == 0 {
		t.Errorf("verify found nothing, and %v differ from the undamaged files", d.changed)
	}
	d.repair(t, len(found) > 0)
}

// serve opens a copy of the damaged store and compares its data. It returns whether the
// store refused to start, or refused to read a part of the data.
func (d *damage) serve(t *testing.T) (harmed bool) {
	t.Helper()
	var recovery local.Recovery
	opts := d.options(copied(t, d.dir))
	opts.Events.Recovered = func(r local.Recovery) { recovery = r }
	opts.Events.Fatal = func(msg string) { t.Errorf("the process would end: %s", msg) }
	s, err := local.Open(opts)
	if err != nil {
		if !isDamaged(err) || !strings.Contains(err.Error(), "varve repair") {
			t.Errorf("refused without a way on: %v", err)
		}
		return true
	}
	torn := d.tornEnd(t, &recovery, nil)
	refused, missing, lost := d.compare(t, s, torn != nil)
	d.checkExcuses(t, torn, nil, missing, lost)
	if err := s.Close(); err != nil && !isDamaged(err) {
		t.Errorf("close: %v", err)
	}
	return refused > 0
}

// repair opens the damaged store with the option Salvage, and compares the data that remains.
func (d *damage) repair(t *testing.T, needed bool) {
	t.Helper()
	var losses []local.Loss
	var recovery local.Recovery
	opts := d.options(d.dir)
	opts.Salvage = true
	opts.Events.Lost = func(l []local.Loss) { losses = append(losses, l...) }
	opts.Events.Recovered = func(r local.Recovery) { recovery = r }
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
	if left := verify(t, d.dir); len(left) > 0 {
		t.Errorf("repaired, and does not verify: %v", left)
	}
	if s, err = local.Open(d.options(d.dir)); err != nil {
		t.Errorf("repaired, and does not start: %v", err)
		return
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	refused, missing, lost := d.compare(t, s, true)
	if refused > 0 {
		t.Errorf("repaired, and refuses %d reads", refused)
	}
	torn := d.tornEnd(t, &recovery, losses)
	if len(missing)+len(lost) > 0 && len(losses) == 0 && torn == nil {
		t.Errorf("%d readings and %d items are lost without a word (damage found: %v)", len(missing), len(lost), needed)
		return
	}
	d.checkExcuses(t, torn, losses, missing, lost)
}

func verify(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := local.CheckFolder(t.Context(), dir, 0, func(p local.Problem) { found = append(found, fmt.Sprintf("%s: %v", p.File, p.Err)) })
	if err != nil {
		t.Errorf("verify: %v", err)
	}
	return found
}

// sum returns a checksum of the names and contents of all files in a folder, except the lock file.
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
