package local_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/storetest"
)

// open opens a store for a test, and closes it at the end.
func open(t *testing.T, o local.Options) *local.Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = "data"
	}
	o.Events.Failed = func(what string, err error) { t.Errorf("%s: %v", what, err) }
	s, err := local.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore_Conforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, local.Options{FS: vfs.NewMem(), Now: now})
	})
}

// TestStore_ConformsWhileFlushing runs the suite with constant flushes.
func TestStore_ConformsWhileFlushing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, local.Options{FS: vfs.NewMem(), Now: now, TailBytes: 1})
	})
}
