package local_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/storetest"
)

func open(t *testing.T, o local.Options) *local.Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = "data"
	}
	if o.Events.Failed == nil {
		o.Events.Failed = func(what string, err error) { t.Errorf("%s: %v", what, err) }
	}
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

// TestStore_ConformsWhileFlushing runs the suite of package storetest with a flush after each write.
func TestStore_ConformsWhileFlushing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, local.Options{FS: vfs.NewMem(), Now: now, MemtableBytes: 1})
	})
}

// TestTables_EmptyTableHasNoBytes checks that the size of an empty table does not include chunks
// of its neighbors, also after a restart.
func TestTables_EmptyTableHasNoBytes(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, local.Options{FS: fs})
	for i := range 3 {
		create(t, s, week(t, i))
	}
	write(t, s, week(t, 1), readings(t, week(t, 1), device(1), 5000), varve.Stored)
	for _, when := range []string{"before", "after"} {
		infos, err := s.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime(), Details: true})
		if err != nil || len(infos) != 3 {
			t.Fatal(infos, err)
		}
		for _, info := range infos {
			if empty := info.Table != week(t, 1); empty != (info.Bytes == 0) || empty != (info.Readings == 0) {
				t.Errorf("%s a restart %s has %d readings and %d bytes", when, info.Table, info.Readings, info.Bytes)
			}
		}
		if when == "before" {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, local.Options{FS: fs})
		}
	}
}
