package outbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
)

// TestOutbox_ReturnsRecordsInOrder checks both orders, before and after a restart. NewestFirst must reverse
// only the segments, not the records in them.
func TestOutbox_ReturnsRecordsInOrder(t *testing.T) {
	for _, order := range []outbox.Order{outbox.OldestFirst, outbox.NewestFirst} {
		for _, restart := range []bool{false, true} {
			o := outbox.Options{Disk: disk{vfs.NewMem()}, Order: order, SegmentBytes: 10_000}
			b := open(t, o)
			add(t, b, 0, 400)
			if restart {
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				b = open(t, o)
			}
			if s := b.Stats(); s.Readings != 400 || s.Segments < 5 {
				t.Fatalf("order %d, restart %t: %+v", order, restart, s)
			}
			got := left(t, b)
			if isOldest := slices.Equal(got, sequence(0, 400)); isOldest != (order == outbox.OldestFirst) {
				t.Errorf("order %d, restart %t: %v", order, restart, got)
			}
			if order == outbox.NewestFirst && (got[0] < 350 || got[399] > 50) {
				t.Errorf("restart %t: newest first began with %d and ended with %d", restart, got[0], got[399])
			}
			slices.Sort(got)
			if !slices.Equal(got, sequence(0, 400)) {
				t.Errorf("order %d, restart %t: %v", order, restart, got)
			}
		}
	}
}

// TestOutbox_ReturnsNewestRecordsOfBacklogFirst adds a record each 10 ms while the server does not answer.
// With NewestFirst, the first batch then must have recent records, although they would fit into one segment.
func TestOutbox_ReturnsNewestRecordsOfBacklogFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}, Order: outbox.NewestFirst, MaxBytes: 256 << 20})
		const records = 2000
		for n := range records {
			add(t, b, n, n+1)
			<-time.After(10 * time.Millisecond)
		}
		got := left(t, b)
		if got[0] < records-400 || got[len(got)-1] > 400 {
			t.Errorf("the first record is %d, and the last one %d", got[0], got[len(got)-1])
		}
		if slices.Sort(got); !slices.Equal(got, sequence(0, records)) {
			t.Errorf("%v", got)
		}
	})
}

// TestOutbox_HasLongSegmentsWithoutBacklog adds records with NewestFirst, and confirms each one before the next. All
// of them must be in one segment, because short segments cost further syncs.
func TestOutbox_HasLongSegmentsWithoutBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}, Order: outbox.NewestFirst, MaxBytes: 256 << 20, Keep: 24 * time.Hour})
		for n := range 2000 {
			add(t, b, n, n+1)
			if err := b.Confirm(next(t, b, 1<<20, 1)); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * time.Millisecond)
		}
		if s := b.Stats(); s.Segments != 1 || s.Readings != 0 {
			t.Errorf("%+v, want one segment without unconfirmed readings", s)
		}
	})
}

// TestOutbox_ReturnsUnconfirmedRecordsAgain checks that unconfirmed records are returned once more, with
// and without a restart.
func TestOutbox_ReturnsUnconfirmedRecordsAgain(t *testing.T) {
	o := outbox.Options{Dir: t.TempDir()}
	b := open(t, o)
	add(t, b, 0, 10)
	for range 2 {
		if batch := next(t, b, 1<<20, 4); len(batch.Records) != 4 || numberOf(t, batch.Records[0]) != 0 {
			t.Fatalf("%d records", len(batch.Records))
		}
	}
	if err := b.Confirm(next(t, b, 1<<20, 4)); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, o)
	if got := left(t, b); !slices.Equal(got, sequence(4, 10)) {
		t.Errorf("%v", got)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := open(t, o).Stats().Readings; got != 0 {
		t.Errorf("%d readings are left", got)
	}
}

// TestOutbox_DropsOldest fills an outbox with the policy DropOldest. The newest records must remain, and
// each dropped reading must be counted.
func TestOutbox_DropsOldest(t *testing.T) {
	var e events
	b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}, MaxBytes: outbox.MinBytes, Events: e.callbacks()})
	big := func(n int) outbox.Record {
		r := record(n)
		r.Lines = append(r.Lines, make([]byte, 10_000)...)
		return r
	}
	const all = 500
	for n := range all {
		if err := b.Append(t.Context(), []outbox.Record{big(n)}); err != nil {
			t.Fatal(err)
		}
		if got := b.Stats().Bytes; got > outbox.MinBytes {
			t.Fatalf("%d bytes", got)
		}
	}
	s := b.Stats()
	if s.Dropped == 0 || s.Dropped+s.Readings != all || e.dropped != s.Dropped || s.Readings < 60 {
		t.Fatalf("%+v, events of %d", s, e.dropped)
	}
	var got []int
	for b.Stats().Readings > 0 {
		batch := next(t, b, 1<<20, 10)
		for _, r := range batch.Records {
			r.Lines = r.Lines[:len(r.Lines)-10_000]
			got = append(got, numberOf(t, r))
		}
		if err := b.Confirm(batch); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, sequence(int(s.Dropped), all)) {
		t.Errorf("%v, want %d to %d", got, s.Dropped, all)
	}
}

// TestOutbox_RefusesNewest fills an outbox with the policy RefuseNewest. It must refuse a record that does
// not fit. After confirmations, it must accept records again.
func TestOutbox_RefusesNewest(t *testing.T) {
	b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}, MaxBytes: outbox.MinBytes, Full: outbox.RefuseNewest})
	n := 0
	var err error
	for ; err == nil; n++ {
		if n > 10_000 {
			t.Fatal("nothing was refused")
		}
		err = b.Append(t.Context(), []outbox.Record{record(n)})
	}
	if !errors.Is(err, outbox.ErrFull) || varve.FailureOf(err) != varve.Busy || b.Stats().Bytes > outbox.MinBytes {
		t.Fatalf("%v, %+v", err, b.Stats())
	}
	if got := left(t, b); !slices.Equal(got, sequence(0, n-1)) || b.Stats().Dropped != 0 {
		t.Errorf("%d records, want %d", len(got), n-1)
	}
	add(t, b, n, n+1)
}

// TestOutbox_RefusesSecondUser opens a folder twice.
func TestOutbox_RefusesSecondUser(t *testing.T) {
	dir := t.TempDir()
	open(t, outbox.Options{Dir: dir})
	if b, err := outbox.Open(outbox.Options{Dir: dir, MaxBytes: outbox.MinBytes}); err == nil {
		t.Errorf("opened twice: %v", b.Close())
	}
}

// TestOutbox_IgnoresCursorOfOtherSegment copies a cursor to a folder whose segments have the same
// numbers. None of their records may count as confirmed.
func TestOutbox_IgnoresCursorOfOtherSegment(t *testing.T) {
	o := outbox.Options{Dir: t.TempDir()}
	b := open(t, o)
	add(t, b, 0, 3)
	if err := b.Confirm(next(t, b, 1<<20, 2)); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	cursor, err := os.ReadFile(filepath.Join(o.Dir, "CURSOR"))
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = t.TempDir()
	b = open(t, o)
	add(t, b, 10, 13)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "CURSOR"), cursor, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := left(t, open(t, o)); !slices.Equal(got, sequence(10, 13)) {
		t.Errorf("%v", got)
	}
}

// TestOutbox_SharesSyncs appends from many goroutines. Their records must share syncs.
func TestOutbox_SharesSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowSyncs{disk: disk{vfs.NewMem()}, release: make(chan struct{})}
		b := open(t, outbox.Options{Disk: slow})
		var wg sync.WaitGroup
		const writers = 50
		for n := range writers {
			wg.Go(func() {
				if err := b.Append(t.Context(), []outbox.Record{record(n)}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // the first sync waits, and the other records are in one group
		close(slow.release)
		wg.Wait()
		if got := slow.syncs.Load(); got > 3 { // expected are syncs of the header, the first group and the second group
			t.Errorf("%d syncs for %d records", got, writers)
		}
		got := left(t, b)
		slices.Sort(got)
		if !slices.Equal(got, sequence(0, writers)) {
			t.Errorf("%v", got)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

// slowSyncs is a disk whose syncs wait until release is closed. Meanwhile, new records form one group.
type slowSyncs struct {
	disk
	release chan struct{}
	syncs   atomic.Int64
}

type slowFile struct {
	outbox.File
	of *slowSyncs
}

func (s *slowSyncs) Create(name string) (outbox.File, error) {
	f, err := s.disk.Create(name)
	return slowFile{f, s}, err
}

func (f slowFile) Sync() error {
	<-f.of.release
	f.of.syncs.Add(1)
	return f.File.Sync()
}

// TestOutbox_EndsWithContextAndClose checks that Next fails if its context has ended, and that Next and
// Append fail after Close.
func TestOutbox_EndsWithContextAndClose(t *testing.T) {
	b := open(t, outbox.Options{Dir: t.TempDir()})
	if _, err := b.Next(ends(), 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Next: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Next(t.Context(), 1, 1); !errors.Is(err, outbox.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
	if err := b.Append(t.Context(), []outbox.Record{record(1)}); !errors.Is(err, outbox.ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
}
