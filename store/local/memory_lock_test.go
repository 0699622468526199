package local

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// openInMemory opens a store with one table. The store is closed at the end of the test.
func openInMemory(t *testing.T) (*Store, grid.Table, time.Time) {
	t.Helper()
	s, table, at := openWithTable(t, Options{FS: vfs.NewMem()})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, table, at
}

// TestShards_BlockOnlyTheirSeries locks the shard of one series. Meanwhile, writes and reads of a series in
// another shard must succeed, and a write that includes the first series must wait.
func TestShards_BlockOnlyTheirSeries(t *testing.T) {
	s, table, at := openInMemory(t)
	blocked, other := readingOf(0, at), readingOf(1, at)
	index, locked := s.mem.mu.shardOf(blocked.Series)
	for i := 2; s.mem.mu.indexOf(other.Series) == index; i++ {
		other = readingOf(i, at)
	}
	write := func(readings ...varve.Reading) error {
		return s.Write(t.Context(), []store.Batch{{Table: table, Readings: readings}})[0].Err
	}
	locked.Lock()
	if err := write(other); err != nil {
		t.Error(err)
	}
	page, err := s.Read(t.Context(), store.Range{Table: table, Series: other.Series, Window: varve.AllTime()}, nil)
	if len(page.Readings) != 1 || err != nil {
		t.Errorf("read %d readings: %v", len(page.Readings), err)
	}
	done := make(chan error, 1)
	go func() { done <- write(blocked, readingOf(3, at)) }()
	if err := write(other); err != nil { // a duplicate
		t.Error(err)
	}
	if len(done) > 0 {
		t.Error("a write of a locked shard has ended")
	}
	locked.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestShards_SpreadSeries checks that devices of one stream, and streams of one device, use all shards
// about equally.
func TestShards_SpreadSeries(t *testing.T) {
	const shards, series = 16, 16000
	l := memoryLock{shards: make([]shard, shards)}
	devices, streams := make([]int, shards), make([]int, shards)
	for i := range series {
		s := readingOf(i, time.Time{}).Series
		devices[l.indexOf(s)]++
		streams[l.indexOf(varve.Series{Tenant: s.Tenant, Stream: s.Device, Device: s.Stream})]++
	}
	for i := range shards {
		for _, n := range []int{devices[i], streams[i]} {
			if n < series/shards*4/5 || n > series/shards*6/5 {
				t.Errorf("shard %d has %d of %d series", i, n, series)
			}
		}
	}
}

// TestLatest_SkipsReadingOfDroppedTable caches a reading of a table after the table was dropped and
// recreated. Latest must not find this reading in the new table, which is empty.
func TestLatest_SkipsReadingOfDroppedTable(t *testing.T) {
	s, table, at := openInMemory(t)
	r := readingOf(0, at)
	l := store.Latest{Table: table, Series: r.Series}
	epoch := s.mem.epochOf(&l)
	if err := errors.Join(s.Retire(t.Context(), table, at), s.Drop(t.Context(), table), s.Create(t.Context(), table, store.Hot)); err != nil {
		t.Fatal(err)
	}
	s.mem.cacheNewest(&r, &l, epoch)
	if got, found, _, err := s.Latest(t.Context(), l); found || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLosses_ChangeVersions checks that a loss changes the versions of items. Otherwise, a caller would use
// cached results although a read would fail.
func TestLosses_ChangeVersions(t *testing.T) {
	s, _, _ := openInMemory(t)
	before, ok1 := s.ItemVersion("p", "s")
	if err := s.db.ledger.add([]lost{{From: []byte{spaceChunk}, To: []byte{spaceChunk + 1}, Reason: "test"}}); err != nil {
		t.Fatal(err)
	}
	if after, ok2 := s.ItemVersion("p", "s"); !ok1 || !ok2 || before == after {
		t.Errorf("version %v stays %v after a loss", before, after)
	}
}
