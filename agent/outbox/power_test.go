package outbox_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/internal/randomtest"
)

// cut is a disk after a power cut, with the records that had been acknowledged, confirmed and compared.
type cut struct {
	fs                  *vfs.MemFS
	acked               []int
	confirmed, compared map[int]bool
	postponed           map[int]bool
}

// cuts simulates power cuts before random writes and syncs.
type cuts struct {
	mu        sync.Mutex
	rng       *rand.Rand
	mem       *vfs.MemFS
	acked     []int
	confirmed map[int]bool
	compared  map[int]bool // records that a comparison may have removed
	postponed map[int]bool // records that may have copies
	taken     []cut
}

func (c *cuts) String() string { return "cuts" }

func (c *cuts) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.taken) >= cutsOfSeed || c.rng.Float64() > 0.05 {
		return nil
	}
	c.taken = append(c.taken, cut{
		fs:    c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.rng.IntN(101), RNG: c.rng}),
		acked: slices.Clone(c.acked), confirmed: maps.Clone(c.confirmed), compared: maps.Clone(c.compared), postponed: maps.Clone(c.postponed),
	})
	return nil
}

func (c *cuts) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

const cutsOfSeed = 40

// TestPowerCut_KeepsAcknowledgedRecords cuts the power at over 1,000 random moments, while records are
// written, read, confirmed, and in half of the runs kept and compared. After each cut, all acknowledged
// records must exist that are not confirmed, and no damage may be reported. If Options.Keep is set,
// confirmed records must exist until they are compared.
func TestPowerCut_KeepsAcknowledgedRecords(t *testing.T) {
	total, returned := 0, 0
	for seed := range uint64(randomtest.Part(32)) {
		mem := vfs.NewCrashableMem()
		c := &cuts{rng: rand.New(rand.NewPCG(seed, 1)), mem: mem, confirmed: map[int]bool{}, compared: map[int]bool{}, postponed: map[int]bool{}}
		o := outbox.Options{Disk: disk{errorfs.Wrap(mem, c)}, SegmentBytes: 3000, Order: outbox.Order(seed % 2), Keep: time.Duration(seed/2%2) * time.Hour}
		writeAndConfirm(t, c, o, seed)
		for i := range c.taken {
			at := &c.taken[i]
			total++
			returned += checkCut(t, at, o, fmt.Sprintf("seed %d, cut %d", seed, i))
			if t.Failed() {
				return
			}
		}
	}
	if total < randomtest.Part(1000) || returned == 0 {
		t.Errorf("%d power cuts, %d records returned after them: too few to prove anything", total, returned)
	}
}

// writeAndConfirm writes from two goroutines, while a third one reads, confirms, postpones and compares.
func writeAndConfirm(t *testing.T, c *cuts, o outbox.Options, seed uint64) {
	t.Helper()
	o.Dir, o.MaxBytes = "box", 16<<20
	b, err := outbox.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var writers, reader sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for n := 1000 * w; n < 1000*w+150; n++ {
				if err := b.Append(t.Context(), []outbox.Record{record(n)}); err != nil {
					t.Error(err)
					return
				}
				c.note(func() { c.acked = append(c.acked, n) })
			}
		})
	}
	reader.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 2))
		for {
			batch, err := b.Next(t.Context(), 5000, 1+rng.IntN(10))
			if errors.Is(err, outbox.ErrClosed) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if rng.IntN(4) == 0 {
				continue // simulates a server that did not answer
			}
			var waiting []int
			for i := range batch.Records {
				if rng.IntN(4) == 0 {
					waiting = append(waiting, i)
				}
			}
			c.confirm(t, batch, waiting)
			if err := b.ConfirmExcept(batch, waiting); err != nil {
				t.Error(err)
				return
			}
			sendPostponed(t, c, b, rng)
			if kept := b.Kept().Segments(); len(kept) > 3 {
				compareKept(t, c, b, kept[:2])
			}
		}
	})
	writers.Wait()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	reader.Wait()
}

// confirm records that a batch is confirmed, except some records.
func (c *cuts) confirm(t *testing.T, batch *outbox.Batch, waiting []int) {
	c.note(func() {
		for i, r := range batch.Records {
			if slices.Contains(waiting, i) {
				c.postponed[numberOf(t, r)] = true
			} else {
				c.confirmed[numberOf(t, r)] = true
			}
		}
	})
}

// sendPostponed confirms some postponed records, and moves others to the end of the outbox.
func sendPostponed(t *testing.T, c *cuts, b *outbox.Outbox, rng *rand.Rand) {
	if err := b.Postponed().Move(t.Context()); err != nil && !errors.Is(err, outbox.ErrClosed) {
		t.Error(err)
	}
	for _, stream := range b.Postponed().Streams() {
		batch, err := b.Postponed().Next(stream, rng.IntN(4), 3000, 3)
		if err != nil {
			t.Error(err)
		}
		if batch == nil || rng.IntN(8) > 0 {
			continue
		}
		waiting := []int{rng.IntN(2 * len(batch.Records))}
		c.confirm(t, batch, waiting)
		if err := b.Postponed().Confirm(batch, waiting); err != nil {
			t.Error(err)
		}
	}
}

func compareKept(t *testing.T, c *cuts, b *outbox.Outbox, kept []outbox.KeptSegment) {
	for _, k := range kept {
		for batch, err := range b.Kept().ReadSegment(k, 5000, 10) {
			if err != nil {
				t.Error(err)
				return
			}
			c.note(func() {
				for _, r := range batch.Records {
					c.compared[numberOf(t, r)] = true
				}
			})
		}
	}
	if err := b.Kept().FinishComparison(kept); err != nil {
		t.Error(err)
	}
}

// checkCut checks the outbox that a power cut left on the disk. It returns the number of records that Next
// returned.
func checkCut(t *testing.T, c *cut, o outbox.Options, name string) int {
	t.Helper()
	var e events
	o.Disk, o.Events = disk{c.fs}, e.callbacks()
	b := open(t, o)
	found := map[int]bool{}
	for _, n := range keptRecords(t, b) {
		if found[n] = true; !c.confirmed[n] {
			t.Errorf("%s: record %d is kept, but was not confirmed", name, n)
		}
	}
	waiting := postponedRecords(t, b)
	times := map[int]int{}
	got := left(t, b)
	for _, n := range append(got, waiting...) {
		if times[n]++; times[n] > 2 || times[n] > 1 && !c.postponed[n] {
			t.Errorf("%s: record %d is sent too often", name, n)
		}
		if found[n] && !c.postponed[n] {
			t.Errorf("%s: record %d is kept and unconfirmed", name, n)
		}
	}
	for n := range times {
		found[n] = true
	}
	for _, n := range keptRecords(t, b) { // now includes the segments whose last records were just confirmed
		found[n] = true
	}
	for _, n := range c.acked {
		if !found[n] && !c.confirmed[n] {
			t.Errorf("%s: record %d was acknowledged and is lost", name, n)
		}
		if !found[n] && o.Keep > 0 && !c.compared[n] {
			t.Errorf("%s: record %d was not compared and is lost", name, n)
		}
	}
	if len(e.damage)+len(e.failed) > 0 {
		t.Errorf("%s: damage %v, failures %v", name, e.damage, e.failed)
	}
	return len(got)
}

// faults makes a share of the operations that change the disk fail, at random.
type faults struct {
	mu    sync.Mutex
	rng   *rand.Rand
	err   error
	share float64
}

func (f *faults) String() string { return "faults" }

func (f *faults) MaybeError(op errorfs.Op) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || f.rng.Float64() >= f.share {
		return nil
	}
	return f.err
}

func (f *faults) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.share = 0
}

// TestFaults_KeepAcknowledgedRecords lets a tenth of all operations that change the disk fail. Records
// whose Append succeeded must exist afterward, also after a restart.
func TestFaults_KeepAcknowledgedRecords(t *testing.T) {
	for seed := range uint64(randomtest.Part(20)) {
		f := &faults{rng: rand.New(rand.NewPCG(seed, 1)), share: 0.1, err: errors.New("the disk failed")}
		mem := vfs.NewMem()
		var e events
		o := outbox.Options{Dir: "box", Disk: disk{errorfs.Wrap(mem, f)}, SegmentBytes: 3000, MaxBytes: 16 << 20, Events: e.callbacks(), Full: outbox.RefuseNewest}
		if err := (disk{mem}).MakeFolder("box"); err != nil {
			t.Fatal(err)
		}
		b, err := outbox.Open(o)
		for ; err != nil; b, err = outbox.Open(o) {
			t.Log("open:", err)
		}
		var acked []int
		for n := range 200 {
			if err := b.Append(t.Context(), []outbox.Record{record(n)}); err == nil {
				acked = append(acked, n)
			}
		}
		f.stop()
		if len(acked) < 50 || len(acked) == 200 {
			t.Fatalf("%d records were written", len(acked))
		}
		if seed%2 == 0 {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b = open(t, o)
		}
		got := left(t, b)
		for _, n := range acked {
			if !slices.Contains(got, n) {
				t.Errorf("seed %d: record %d is lost", seed, n)
			}
		}
		if len(e.damage) > 0 {
			t.Errorf("seed %d: damage %v", seed, e.damage)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFullDisk_FollowsPolicy fills the disk before the outbox reaches its own limit. Append must fail with
// the policy RefuseNewest, and the oldest records must be dropped with DropOldest.
func TestFullDisk_FollowsPolicy(t *testing.T) {
	for _, policy := range []outbox.Policy{outbox.DropOldest, outbox.RefuseNewest} {
		full := &fullDisk{disk: disk{vfs.NewMem()}, free: 100_000}
		b := open(t, outbox.Options{Disk: full, SegmentBytes: 10_000, Full: policy})
		failed := 0
		for n := range 1000 {
			err := b.Append(t.Context(), []outbox.Record{record(n)})
			if err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			if err != nil {
				failed++
			}
		}
		s := b.Stats()
		got := left(t, b)
		switch {
		case policy == outbox.DropOldest && (failed > 0 || s.Dropped == 0 || got[len(got)-1] != 999):
			t.Errorf("drop: %d failed, %+v, last %v", failed, s, got[len(got)-1])
		case policy == outbox.RefuseNewest && (failed == 0 || s.Dropped > 0 || !slices.Equal(got, sequence(0, 1000-failed))):
			t.Errorf("refuse: %d failed, %+v, %v", failed, s, got)
		}
	}
}

// fullDisk is a disk with a limited number of free bytes.
type fullDisk struct {
	disk
	mu    sync.Mutex
	free  int64
	sizes map[string]int64
}

type fullFile struct {
	outbox.File
	of   *fullDisk
	name string
}

func (d *fullDisk) Create(name string) (outbox.File, error) {
	f, err := d.disk.Create(name)
	return fullFile{f, d, name}, err
}

func (d *fullDisk) Remove(name string) error {
	d.mu.Lock()
	d.free += d.sizes[name]
	delete(d.sizes, name)
	d.mu.Unlock()
	return d.disk.Remove(name)
}

func (f fullFile) WriteAt(p []byte, at int64) (int, error) {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.of.sizes == nil {
		f.of.sizes = map[string]int64{}
	}
	grown := max(0, at+int64(len(p))-f.of.sizes[f.name])
	if grown > f.of.free {
		return 0, syscall.ENOSPC
	}
	f.of.free -= grown
	f.of.sizes[f.name] += grown
	return f.File.WriteAt(p, at)
}
