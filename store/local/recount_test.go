package local_test

import (
	"testing"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// countOf returns the number of readings in a table as the catalog has it.
func countOf(t *testing.T, s *local.Store, in grid.Table) int64 {
	t.Helper()
	infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: in.Window(), Details: true})
	if err != nil || len(infos) != 1 {
		t.Fatalf("%v, %+v", err, infos)
	}
	return infos[0].Readings
}

// reopened closes and opens a store, so that all its readings are in chunks.
func reopened(t *testing.T, s *local.Store) *local.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, small(local.Options{Dir: s.Dir()}))
}

// TestOpen_RecountsChunksAfterDamage loses the statistics of a table and damages a data block of its
// chunks. The recount must include the chunks after the damage.
func TestOpen_RecountsChunksAfterDamage(t *testing.T) {
	t.Parallel()
	const devices, n = 6, 2000
	dir, tb := t.TempDir(), week(t, 0)
	s := open(t, small(local.Options{Dir: dir}))
	create(t, s, tb)
	for i := range devices {
		noisy(t, s, device(i), n)
	}
	s = reopened(t, s)
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.LoseStats(tb); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := ssts(t, dir)[0]
	flip(t, path, within(t, path))
	var r reports
	s = open(t, small(local.Options{Dir: dir, Events: r.events(t)}))
	if got := countOf(t, s, tb); got < (devices-1)*n || got >= devices*n {
		t.Errorf("%d readings are counted, want those of %d devices and a part of one with %d", got, devices-1, n)
	}
	if _, err := s.AcceptLosses(t.Context()); err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range devices {
		total += len(all(t, s, tb, device(i)))
	}
	if got := countOf(t, s, tb); got != int64(total) {
		t.Errorf("%d readings are counted, and %d are read", got, total)
	}
}

// TestAcceptLosses_RecountsLostStatistics loses the statistics of a table while the store is open. A
// table without statistics counts as empty after a restart, so a repair must restore them.
func TestAcceptLosses_RecountsLostStatistics(t *testing.T) {
	t.Parallel()
	const n = 500
	dir, tb := t.TempDir(), week(t, 0)
	s := open(t, small(local.Options{Dir: dir}))
	create(t, s, tb)
	noisy(t, s, "d", n)
	s = reopened(t, s)
	if err := s.LoseStats(tb); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AcceptLosses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, small(local.Options{Dir: dir}))
	if got, read := countOf(t, s, tb), len(all(t, s, tb, "d")); got != n || read != n {
		t.Errorf("%d readings are counted and %d are read, want %d", got, read, n)
	}
}
