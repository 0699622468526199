package local_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestDeleteExpired_KeepsOtherReadings deletes two of three readings of a series from its chunks.
// All others must stay, be recognized as duplicates, and be counted, also after a restart.
func TestDeleteExpired_KeepsOtherReadings(t *testing.T) {
	o := small(local.Options{Dir: "data", FS: vfs.NewMem()})
	tb := week(t, 3)
	reopen := func(s *local.Store) *local.Store {
		t.Helper()
		if s != nil {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s, err := local.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := reopen(nil)
	create(t, s, tb)
	list := readings(t, tb, "a", 5000)
	other := readings(t, tb, "b", 2000)
	var kept, expired []varve.Reading
	for i := range list {
		if i%3 == 0 { // so that each chunk has some of both
			list[i].Arrived = arrived.Add(time.Hour)
			kept = append(kept, list[i])
		} else {
			expired = append(expired, list[i])
		}
	}
	write(t, s, tb, list[:4000], varve.Stored)
	write(t, s, tb, other, varve.Stored)
	s = reopen(s)
	write(t, s, tb, list[4000:], varve.Stored)
	s = reopen(s)
	deleteUntil := func(cutoff time.Time) int64 {
		t.Helper()
		n, err := s.DeleteExpired(t.Context(), tb, func(series varve.Series) time.Time {
			if series.Device == "b" {
				return time.Time{} // no retention
			}
			return cutoff
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := deleteUntil(arrived.Add(-1)); n != 0 {
		t.Errorf("%d readings were deleted whose arrival is not expired", n)
	}
	if n := deleteUntil(arrived); n != int64(len(expired)) {
		t.Errorf("%d readings were deleted, want %d", n, len(expired))
	}
	if n := deleteUntil(arrived); n != 0 {
		t.Errorf("%d readings were deleted twice", n)
	}
	for range 2 {
		for device, want := range map[string][]varve.Reading{"a": kept, "b": other} {
			got := all(t, s, tb, device)
			if !slices.EqualFunc(got, want, func(r, q varve.Reading) bool { return r.Equal(&q) }) {
				t.Errorf("device %s has %d readings, want %d", device, len(got), len(want))
			}
			write(t, s, tb, want, varve.Duplicate)
		}
		infos, err := s.Tables(t.Context(), store.Filter{Prefixes: []string{"t"}, Window: varve.AllTime(), Details: true})
		if err != nil || infos[0].Readings != int64(len(kept)+len(other)) {
			t.Errorf("the table counts %d readings, want %d: %v", infos[0].Readings, len(kept)+len(other), err)
		}
		s = reopen(s)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	write(t, s, tb, expired[:10], varve.Stored)
	for _, refuse := range []func() error{
		func() error { return s.Hold(t.Context(), tb, "audit") },
		func() error {
			return errors.Join(s.Hold(t.Context(), tb, ""), s.Retire(t.Context(), tb, arrived))
		},
	} {
		if err := refuse(); err != nil {
			t.Fatal(err)
		}
		n, err := s.DeleteExpired(t.Context(), tb, func(varve.Series) time.Time { return arrived.Add(time.Hour) })
		if !errors.Is(err, store.ErrRefused) || n != 0 {
			t.Errorf("%d readings were deleted: %v", n, err)
		}
	}
}
