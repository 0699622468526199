package local_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// account records acknowledged data of one writer: the value of each item, and the number of
// stored readings. A pending change may or may not have happened.
type account struct {
	items   map[string]int64 // value of each item by its sort key; items that are deleted or were never put are missing
	pending map[string]int64 // value of each pending change by the sort key of its item; -1 means a deletion
	stored  int              // number of readings that were acknowledged
	sending int              // number of readings in the running write; 0 if none runs
	hold    string           // reason of the last acknowledged hold
	holding *string          // reason of the hold that is being set; nil if no hold is being set
}

func (a *account) clone() account {
	c := account{items: map[string]int64{}, pending: map[string]int64{}, stored: a.stored, sending: a.sending, hold: a.hold, holding: a.holding}
	for k, v := range a.items {
		c.items[k] = v
	}
	for k, v := range a.pending {
		c.pending[k] = v
	}
	return c
}

// cut is a disk after a power cut, with the data that was acknowledged before.
type cut struct {
	fs       *vfs.MemFS
	accounts []account
}

// crashes simulates power cuts before random writes and syncs of a store.
type crashes struct {
	mu       sync.Mutex
	rng      *rand.Rand
	mem      *vfs.MemFS
	accounts []*account
	cuts     []cut
	share    float64 // share of the writes and syncs before which the power is cut
	most     int     // maximum number of cuts
	whole    bool    // if true, either all unsynced data survives a cut, or none of it
}

func (c *crashes) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cuts) >= c.most || c.rng.Float64() >= c.share {
		return nil
	}
	unsynced := c.rng.IntN(101)
	if c.whole {
		unsynced = unsynced % 2 * 100
	}
	at := cut{fs: c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: c.rng})}
	for _, a := range c.accounts {
		at.accounts = append(at.accounts, a.clone())
	}
	c.cuts = append(c.cuts, at)
	return nil
}

func (c *crashes) String() string { return "crashes" }

func (c *crashes) taken() []cut {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.cuts)
}

// note calls a function that changes an account, so that no power cut is simulated meanwhile.
func (c *crashes) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// TestCrash_KeepsItems writes items, readings and tables from several goroutines, and simulates
// power cuts at random moments. After each cut, all acknowledged data must exist, and no deleted item
// may exist.
func TestCrash_KeepsItems(t *testing.T) {
	const cutsOfSeed = 40
	over, total := soakEnds(), 0
	for seed := range seedsFor(*cutsFlag, cutsOfSeed, 4, 1) {
		if over() {
			break
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			c := &crashes{rng: rand.New(rand.NewPCG(seed, 1)), mem: mem, share: 0.05, most: cutsOfSeed}
			opts := local.Options{Dir: "data", FS: errorfs.Wrap(mem, c), MinFree: -1, MemtableBytes: 3000, JournalBytes: 2000, ChunkReadings: 20, MaxLevel0: 3}
			s := open(t, opts)
			var wg sync.WaitGroup
			for i := range 3 {
				a := &account{items: map[string]int64{}, pending: map[string]int64{}}
				c.note(func() { c.accounts = append(c.accounts, a) })
				tb := week(t, i)
				rng := rand.New(rand.NewPCG(seed, 2+uint64(i)))
				wg.Go(func() { c.write(t, s, i, a, tb, rng) })
			}
			wg.Wait()
			cuts := c.taken()
			if len(cuts) < 10 {
				t.Fatalf("only %d power cuts", len(cuts))
			}
			for i := range cuts {
				checkCut(t, fmt.Sprintf("cut %d of %d", i, len(cuts)), &cuts[i])
			}
			total += len(cuts)
		})
	}
	t.Logf("%d power cuts", total)
}

func (c *crashes) write(t *testing.T, s *local.Store, writer int, a *account, tb grid.Table, rng *rand.Rand) {
	create(t, s, tb)
	list := readings(t, tb, device(writer), 2000)
	for n := int64(1); n < 100; n++ {
		switch rng.IntN(5) {
		case 0:
			count := 1 + rng.IntN(12)
			c.note(func() { a.sending = count })
			write(t, s, tb, list[a.stored:a.stored+count], varve.Stored)
			c.note(func() { a.stored, a.sending = a.stored+count, 0 })
		case 1:
			reason := fmt.Sprint("reason ", n)
			c.note(func() { a.holding = &reason })
			if err := s.Hold(t.Context(), tb, reason); err != nil {
				t.Error(err)
			}
			c.note(func() { a.hold, a.holding = reason, nil })
		default:
			c.change(t, s, writer, a, rng, n)
		}
	}
}

func (c *crashes) change(t *testing.T, s *local.Store, writer int, a *account, rng *rand.Rand, n int64) {
	remove, absent := rng.IntN(3) == 0, rng.IntN(4) == 0
	var items []store.Item
	var keys []store.Key
	c.note(func() {
		for range 1 + rng.IntN(3) {
			sk := fmt.Sprint(rng.IntN(10))
			_, exists := a.items[sk]
			_, chosen := a.pending[sk]
			if absent && !remove && (exists || chosen) {
				continue // PutAbsent leaves an existing item unchanged
			}
			k := store.Key{PK: fmt.Sprint("w", writer), SK: sk}
			keys = append(keys, k)
			// The key in the index contains the value, so each write moves the entry in the index.
			items = append(items, store.Item{
				Key: k, GSI1: store.Key{PK: fmt.Sprint("g", writer), SK: fmt.Sprint(n)},
				Attrs: map[string]varve.Value{"n": varve.IntValue(n)},
			})
			if a.pending[sk] = n; remove {
				a.pending[sk] = -1
			}
		}
	})
	var err error
	switch {
	case remove && len(keys) == 1:
		err = s.Delete(t.Context(), keys[0])
	case remove:
		err = s.DeleteAll(t.Context(), keys)
	case absent:
		// Varve registers devices with PutAbsent before it acknowledges their first readings.
		var written []bool
		if written, err = s.PutAbsent(t.Context(), items); slices.Contains(written, false) {
			t.Errorf("PutAbsent left absent items out: %v", written)
		}
	case len(keys) == 1:
		err = s.Put(t.Context(), items[0])
	default:
		err = s.PutAll(t.Context(), items)
	}
	if err != nil {
		t.Error(err)
	}
	c.note(func() {
		for sk, v := range a.pending {
			if v < 0 {
				delete(a.items, sk)
			} else {
				a.items[sk] = v
			}
		}
		clear(a.pending)
	})
}

// checkCut opens the store on the disk after a power cut, twice, and compares its data with the
// accounts each time.
func checkCut(t *testing.T, name string, c *cut) {
	t.Helper()
	for range 2 {
		s, err := local.Open(local.Options{Dir: "data", FS: c.fs, MinFree: -1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range c.accounts {
			c.accounts[i].check(t, fmt.Sprintf("%s, writer %d", name, i), s, i)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (a *account) check(t *testing.T, name string, s *local.Store, writer int) {
	t.Helper()
	for _, q := range []store.ItemQuery{{PK: fmt.Sprint("w", writer)}, {Index: store.GSI1, PK: fmt.Sprint("g", writer)}} {
		page, err := s.Query(t.Context(), q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]int64{}
		for _, it := range page.Items {
			n, _ := it.Attrs["n"].Int()
			if got[it.SK] != 0 {
				t.Errorf("%s: item %s is in the index twice", name, it.SK)
			}
			got[it.SK] = n
		}
		for i := range 10 {
			sk := fmt.Sprint(i)
			pending, open := a.pending[sk]
			if got[sk] != a.items[sk] && (!open || got[sk] != max(pending, 0)) {
				t.Errorf("%s: item %s is %d, want %d (under way: %d)", name, sk, got[sk], a.items[sk], pending)
			}
		}
	}
	a.checkTable(t, name, s, writer)
}

func (a *account) checkTable(t *testing.T, name string, s *local.Store, writer int) {
	t.Helper()
	tb := week(t, writer)
	infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: tb.Window()})
	if err != nil {
		t.Error(err)
	}
	for _, in := range infos {
		if in.Table != tb {
			continue
		}
		if in.Hold != a.hold && (a.holding == nil || in.Hold != *a.holding) {
			t.Errorf("%s: hold %q, want %q", name, in.Hold, a.hold)
		}
		n := len(all(t, s, tb, device(writer)))
		if n < a.stored || n > a.stored+a.sending || int64(n) != in.Readings {
			t.Errorf("%s: %d readings, want %d (%d under way); the table has %d", name, n, a.stored, a.sending, in.Readings)
		}
		return
	}
	if a.stored > 0 || a.hold != "" {
		t.Errorf("%s: the table is gone", name)
	}
}
