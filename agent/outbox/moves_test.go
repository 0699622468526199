package outbox_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/agent/outbox"
)

// TestMove_RelievesFullOutbox fills an outbox during an outage. After the outage, one reading in 99
// stays postponed, and all others are confirmed. Further records must fit, and no postponed reading may be
// dropped.
func TestMove_RelievesFullOutbox(t *testing.T) {
	isStuck := func(n int) bool { return n%99 == 1 }
	for _, policy := range []outbox.Policy{outbox.DropOldest, outbox.RefuseNewest} {
		for _, keep := range []time.Duration{0, time.Hour} {
			b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}, MaxBytes: outbox.MinBytes, Full: policy, Keep: keep})
			n := 0
			for ; b.Stats().Dropped == 0; n++ {
				if err := b.Append(t.Context(), []outbox.Record{record(n)}); errors.Is(err, outbox.ErrFull) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			dropped := b.Stats().Dropped
			stuck := passOver(t, b, isStuck)
			if err := b.Postponed().Move(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 20 { // in all, the records exceed twice outbox.MinBytes
				for to := n + 500; n < to; n++ {
					if err := b.Append(t.Context(), []outbox.Record{record(n)}); err != nil {
						t.Fatalf("policy %d, keep %s: record %d: %v", policy, keep, n, err)
					}
					if isStuck(n) {
						stuck++
					}
				}
				passOver(t, b, isStuck)
				if err := b.Postponed().Move(t.Context()); err != nil {
					t.Fatal(err)
				}
				if s := b.Stats(); s.Bytes > outbox.MinBytes || s.Readings != int64(stuck) || s.Dropped != dropped {
					t.Fatalf("policy %d, keep %s: %+v, want %d postponed readings and %d dropped", policy, keep, s, stuck, dropped)
				}
			}
		}
	}
}

// TestMove_LeavesConfirmedRecordsToCompare moves the records of many ranges. Each record of the segment
// must be left to compare, or have a copy.
func TestMove_LeavesConfirmedRecordsToCompare(t *testing.T) {
	o := outbox.Options{Disk: disk{vfs.NewMem()}, SegmentBytes: 1 << 20, Keep: time.Hour}
	b := open(t, o)
	const all = 3000
	add(t, b, 0, all)
	passOver(t, b, func(n int) bool { return isOfStream1(n) && n >= 600 || n%6 == 0 && n < 600 })
	closeBox(t, b)
	b = open(t, o)
	if err := b.Postponed().Move(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := append(keptRecords(t, b), left(t, b)...)
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != all {
		t.Errorf("%d records are compared or have a copy, want %d", len(got), all)
	}
}

// TestMove_SurvivesFullDisk moves records on a disk without space for copies. The failed moves must lose no
// record, and must be reported once. After a minute, on a disk with free space, a move must succeed.
func TestMove_SurvivesFullDisk(t *testing.T) {
	for _, policy := range []outbox.Policy{outbox.DropOldest, outbox.RefuseNewest} {
		synctest.Test(t, func(t *testing.T) {
			var e events
			full := &fullDisk{disk: disk{vfs.NewMem()}, free: 1 << 20}
			b := open(t, outbox.Options{Disk: full, SegmentBytes: 10_000, Full: policy, Events: e.callbacks()})
			add(t, b, 0, 300)
			passOver(t, b, isOfStream1)
			full.setFree(100)
			for range 3 {
				if err := b.Postponed().Move(t.Context()); err != nil {
					t.Errorf("policy %d: %v", policy, err)
				}
			}
			if s := b.Stats(); s.Dropped != 0 || s.Readings != 100 || s.Failed != nil || len(e.failed) != 1 {
				t.Errorf("policy %d: %+v, reports %v, want 100 readings and one report", policy, s, e.failed)
			}
			full.setFree(1 << 20)
			<-time.After(2 * time.Minute)
			before := b.Stats().Bytes
			if err := b.Postponed().Move(t.Context()); err != nil {
				t.Error(err)
			}
			if s := b.Stats(); s.Readings != 100 || s.Bytes > before*2/3 || len(e.failed) != 1 {
				t.Errorf("policy %d: %+v, had %d bytes, reports %v", policy, s, before, e.failed)
			}
			closeBox(t, b)
		})
	}
}

func (d *fullDisk) setFree(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = bytes
}
