package local_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// expiring is a store with a table. Device a has readings that arrived at two times, and each chunk
// has readings of both times. The field "expired" has the earlier ones, and the field "kept" has the
// later ones. The field "free" has the readings of device b, which never expire.
type expiring struct {
	*testing.T
	*local.Store
	options             local.Options
	table               grid.Table
	kept, expired, free []varve.Reading
	inUse               func(event time.Time) bool // if not nil, passed to DeleteExpired
}

func newExpiring(t *testing.T) *expiring {
	t.Helper()
	e := &expiring{T: t, options: small(local.Options{Dir: "data", FS: vfs.NewMem()}), table: week(t, 3)}
	e.open()
	create(t, e.Store, e.table)
	list := readings(t, e.table, "a", 5000)
	for i := range list {
		if i%3 == 0 {
			list[i].Arrived = arrived.Add(time.Hour)
			e.kept = append(e.kept, list[i])
		} else {
			e.expired = append(e.expired, list[i])
		}
	}
	e.free = readings(t, e.table, "b", 2000)
	write(t, e.Store, e.table, list[:4000], varve.Stored)
	write(t, e.Store, e.table, e.free, varve.Stored)
	e.reopen() // flushes the readings into chunks
	write(t, e.Store, e.table, list[4000:], varve.Stored)
	e.reopen()
	return e
}

func (e *expiring) open() {
	e.Helper()
	var err error
	if e.Store, err = local.Open(e.options); err != nil {
		e.Fatal(err)
	}
}

func (e *expiring) reopen() {
	e.Helper()
	e.close()
	e.open()
}

func (e *expiring) close() {
	e.Helper()
	if err := e.Close(); err != nil {
		e.Fatal(err)
	}
}

// deleteUntil deletes the readings of device a that have expired at a cutoff, and returns their number.
func (e *expiring) deleteUntil(cutoff time.Time) (int64, error) {
	return e.DeleteExpired(e.Context(), e.table, func(series varve.Series) time.Time {
		if series.Device == "b" {
			return time.Time{}
		}
		return cutoff
	}, e.inUse)
}

func (e *expiring) mustDelete(cutoff time.Time, want int) {
	e.Helper()
	if n, err := e.deleteUntil(cutoff); n != int64(want) || err != nil {
		e.Errorf("%d readings were deleted, want %d: %v", n, want, err)
	}
}

// TestDeleteExpired_KeepsOtherReadings deletes two thirds of the readings of a series from its
// chunks. All other readings must stay and be counted, and must be duplicates when they are resent,
// also after a restart.
func TestDeleteExpired_KeepsOtherReadings(t *testing.T) {
	e := newExpiring(t)
	e.mustDelete(arrived.Add(-1), 0)
	e.mustDelete(arrived, len(e.expired))
	e.mustDelete(arrived, 0)
	for range 2 {
		for device, want := range map[string][]varve.Reading{"a": e.kept, "b": e.free} {
			got := all(t, e.Store, e.table, device)
			if !slices.EqualFunc(got, want, func(r, q varve.Reading) bool { return r.Equal(&q) }) {
				t.Errorf("device %s has %d readings, want %d", device, len(got), len(want))
			}
			write(t, e.Store, e.table, want, varve.Duplicate)
		}
		infos, err := e.Tables(t.Context(), store.Filter{Prefixes: []string{"t"}, Window: varve.AllTime(), Details: true})
		if err != nil || infos[0].Readings != int64(len(e.kept)+len(e.free)) {
			t.Errorf("the table counts %d readings, want %d: %v", infos[0].Readings, len(e.kept)+len(e.free), err)
		}
		e.reopen()
	}
	write(t, e.Store, e.table, e.expired[:10], varve.Stored)
	e.close()
}

// TestDeleteExpired_KeepsReadingsInUse deletes readings while some event times are in use. Readings
// with these times must stay as long as the times are in use.
func TestDeleteExpired_KeepsReadingsInUse(t *testing.T) {
	e := newExpiring(t)
	defer e.close()
	used := e.expired[len(e.expired)/2].Time
	e.inUse = func(event time.Time) bool { return !event.Before(used) }
	e.mustDelete(arrived, len(e.expired)/2)
	if got := len(all(t, e.Store, e.table, "a")); got != len(e.kept)+len(e.expired)-len(e.expired)/2 {
		t.Errorf("%d readings are left", got)
	}
	e.inUse = nil
	e.mustDelete(arrived, len(e.expired)-len(e.expired)/2)
}

// TestDeleteExpired_RefusesProtectedTables checks that no reading of a table on hold or of a
// retired table is deleted.
func TestDeleteExpired_RefusesProtectedTables(t *testing.T) {
	e := newExpiring(t)
	defer e.close()
	if err := e.Hold(t.Context(), e.table, "audit"); err != nil {
		t.Fatal(err)
	}
	if n, err := e.deleteUntil(arrived); !errors.Is(err, store.ErrRefused) || n != 0 {
		t.Errorf("%d readings of a table on hold were deleted: %v", n, err)
	}
	if err := errors.Join(e.Hold(t.Context(), e.table, ""), e.Retire(t.Context(), e.table, arrived)); err != nil {
		t.Fatal(err)
	}
	if n, err := e.deleteUntil(arrived); !errors.Is(err, store.ErrRefused) || n != 0 {
		t.Errorf("%d readings of a retired table were deleted: %v", n, err)
	}
	if got := all(t, e.Store, e.table, "a"); len(got) != len(e.kept)+len(e.expired) {
		t.Errorf("%d readings are left", len(got))
	}
}
