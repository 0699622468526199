package local_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/storetest"
	"pgregory.net/rapid"
)

// subject is a store on a disk in memory, so that power cuts can be simulated.
type subject struct {
	*local.Store
	t     *rapid.T
	fs    *vfs.MemFS
	opts  local.Options
	crash bool
}

// Read reads a page, and compares it with the pages of ReadBlocks.
func (s *subject) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	return readBoth(ctx, s.Store, r, dst)
}

// Reopen closes the store, or cuts its power, and opens it. After a power cut, any data that was not
// synced may be lost.
func (s *subject) Reopen() error {
	if s.crash {
		seed := rapid.Uint64().Draw(s.t, "seed")
		s.fs = s.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, 1))})
	}
	if err := s.Close(); err != nil {
		return err
	}
	s.opts.FS = s.fs
	var err error
	s.Store, err = local.Open(s.opts)
	return err
}

// TestStore_AgreesWithModel compares the store with the model of package storetest. The cases differ in
// how often memtables are flushed, and in whether the store is closed or its power is cut.
func TestStore_AgreesWithModel(t *testing.T) {
	randomtest.LimitChecks(t, 30)
	for name, size := range map[string]int64{"memtables": local.MaxMemtableBytes, "some chunks": 4 << 10, "chunks": 1} {
		for _, crash := range []bool{false, true} {
			if crash {
				name += ", power cuts"
			}
			t.Run(name, func(t *testing.T) {
				storetest.Compare(t, func(rt *rapid.T, now func() time.Time) storetest.Subject {
					s := &subject{t: rt, fs: vfs.NewCrashableMem(), crash: crash}
					s.opts = local.Options{Dir: "data", FS: s.fs, Now: now, MemtableBytes: size, ChunkReadings: 3, MaxLevel0: 2}
					s.opts = s.opts.WithCachedColumns(rapid.SampledFrom([]int64{-1, 2 << 10, 1 << 20}).Draw(rt, "cached columns"), 2)
					s.opts = s.opts.WithShards(rapid.SampledFrom([]int{1, 2, 32}).Draw(rt, "shards"))
					s.opts.Events.Failed = func(what string, err error) { panic(errors.Join(errors.New(what), err)) }
					var err error
					if s.Store, err = local.Open(s.opts); err != nil {
						rt.Fatal(err)
					}
					return s
				})
			})
		}
	}
}
