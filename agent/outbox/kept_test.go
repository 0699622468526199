package outbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/agent/outbox"
)

// keptRecords returns the numbers of the records in the kept segments.
func keptRecords(t *testing.T, b *outbox.Outbox) (numbers []int) {
	t.Helper()
	for _, k := range b.Kept().Segments() {
		for batch, err := range b.Kept().ReadSegment(k, 5000, 10) {
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range batch.Records {
				numbers = append(numbers, numberOf(t, r))
			}
		}
	}
	return numbers
}

func closeBox(t *testing.T, b *outbox.Outbox) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestKept_SurvivesRestart confirms all records. They must be kept across a restart, and Next must not
// return them. Their age must exclude the time in which the outbox was closed.
func TestKept_SurvivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := outbox.Options{Disk: disk{vfs.NewMem()}, SegmentBytes: 10_000, Keep: 24 * time.Hour}
		b := open(t, o)
		add(t, b, 0, 100)
		if got := left(t, b); !slices.Equal(got, sequence(0, 100)) {
			t.Fatalf("%v", got)
		}
		<-time.After(5 * time.Hour) // on the fake clock of synctest
		closeBox(t, b)
		<-time.After(1000 * time.Hour)
		b = open(t, o)
		kept := b.Kept().Segments()
		if len(kept) < 3 || kept[0].Age != 5*time.Hour || kept[0].Compared {
			t.Errorf("kept segments: %+v, want 3 or more of an age of 5h", kept)
		}
		if got := keptRecords(t, b); !slices.Equal(got, sequence(0, 100)) {
			t.Errorf("kept records: %v", got)
		}
		if s := b.Stats(); s.Readings != 0 || s.KeptReadings != 100 || s.KeptBytes != s.Bytes {
			t.Errorf("%+v", s)
		}
		if got := left(t, b); len(got) > 0 {
			t.Errorf("records returned once more: %v", got)
		}
		closeBox(t, b)
	})
}

// TestKept_IsUnconfirmedWithoutCursor removes both cursors. All kept records must be returned once more.
func TestKept_IsUnconfirmedWithoutCursor(t *testing.T) {
	o := outbox.Options{Dir: t.TempDir(), SegmentBytes: 10_000, Keep: time.Hour}
	b := open(t, o)
	add(t, b, 0, 100)
	left(t, b)
	closeBox(t, b)
	for _, file := range []string{"CURSOR", "CURSOR.old"} {
		if err := os.Remove(filepath.Join(o.Dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if got := left(t, open(t, o)); !slices.Equal(got, sequence(0, 100)) {
		t.Errorf("%v", got)
	}
}

// TestKept_IsRemovedWithoutKeep opens an outbox with kept segments, without Options.Keep. Open must remove
// the segments, and no later segment may be kept.
func TestKept_IsRemovedWithoutKeep(t *testing.T) {
	o := outbox.Options{Dir: t.TempDir(), SegmentBytes: 10_000, Keep: time.Hour}
	b := open(t, o)
	add(t, b, 0, 100)
	left(t, b)
	closeBox(t, b)
	o.Keep = 0
	b = open(t, o)
	if s := b.Stats(); s.Segments != 0 || s.Bytes != 0 || s.Uncompared != 0 {
		t.Errorf("%+v", s)
	}
	add(t, b, 100, 200)
	left(t, b)
	if s := b.Stats(); s.Segments != 1 || len(b.Kept().Segments()) != 0 {
		t.Errorf("after confirmations: %+v, want only the segment that receives records", s)
	}
}

// TestKept_YieldsToRecords fills an outbox that has kept segments. They must be removed before any record
// is dropped or refused, the oldest first. They must not count as dropped.
func TestKept_YieldsToRecords(t *testing.T) {
	for name, o := range map[string]outbox.Options{
		"drop": {Full: outbox.DropOldest, Disk: disk{vfs.NewMem()}}, "refuse": {Full: outbox.RefuseNewest, Disk: disk{vfs.NewMem()}},
		"full disk, drop":   {Full: outbox.DropOldest, Disk: &fullDisk{disk: disk{vfs.NewMem()}, free: 600_000}, MaxBytes: 16 << 20, SegmentBytes: 10_000},
		"full disk, refuse": {Full: outbox.RefuseNewest, Disk: &fullDisk{disk: disk{vfs.NewMem()}, free: 600_000}, MaxBytes: 16 << 20, SegmentBytes: 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			if o.Keep = time.Hour; o.MaxBytes == 0 {
				o.MaxBytes = outbox.MinBytes
			}
			const first, more = 2400, 2400
			b := open(t, o)
			add(t, b, 0, first)
			left(t, b)
			before := b.Stats().KeptReadings
			add(t, b, first, first+more)
			s := b.Stats()
			kept := keptRecords(t, b)
			if s.Dropped != 0 || s.Readings != more || s.Uncompared == 0 || s.Uncompared+s.KeptReadings < before || s.Bytes > o.MaxBytes {
				t.Errorf("%+v with %d readings kept before", s, before)
			}
			if len(kept) == 0 || kept[0] != int(s.Uncompared) || !slices.IsSorted(kept) {
				t.Errorf("kept records: %v, want them from %d", kept, s.Uncompared)
			}
			if got := left(t, b); !slices.Equal(got, sequence(first, first+more)) {
				t.Errorf("%d records, want %d", len(got), more)
			}
		})
	}
}

// TestKept_YieldsToCursor saves the cursor on a full disk. The oldest kept segment must be removed, so that
// the cursor fits.
func TestKept_YieldsToCursor(t *testing.T) {
	full := &fullDisk{disk: disk{vfs.NewMem()}, free: 1 << 20}
	b := open(t, outbox.Options{Disk: full, SegmentBytes: 10_000, Keep: time.Hour})
	add(t, b, 0, 100)
	left(t, b)
	before := b.Stats().Segments
	full.mu.Lock()
	full.free = 0
	delete(full.sizes, "box/CURSOR.new")
	full.mu.Unlock()
	if err := b.SaveCursor(); err != nil {
		t.Error(err)
	}
	if s := b.Stats(); s.Segments != before-1 || s.Uncompared == 0 || s.Dropped != 0 {
		t.Errorf("%+v with %d segments before", s, before)
	}
}

// TestKept_EndsQuietSegment appends one record. Its segment must end after an eighth of Options.Keep, which
// is three hours, so that it can be compared.
func TestKept_EndsQuietSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}, Keep: 24 * time.Hour})
		add(t, b, 0, 1)
		left(t, b)
		if kept := b.Kept().Segments(); len(kept) > 0 {
			t.Errorf("kept too early: %+v", kept)
		}
		<-time.After(4 * time.Hour) // on the fake clock of synctest
		synctest.Wait()
		if kept := b.Kept().Segments(); len(kept) != 1 || kept[0].Age != time.Hour || kept[0].Readings != 1 {
			t.Errorf("%+v, want one segment, which ended an hour ago", kept)
		}
		add(t, b, 1, 2)
		if got := left(t, b); !slices.Equal(got, []int{1}) {
			t.Errorf("%v", got)
		}
		closeBox(t, b)
	})
}

// TestKept_StaysForNextComparison finishes one comparison per segment. A segment must be removed by the
// comparison after its own, also after a restart. RemoveSegments must count only segments that were not
// compared.
func TestKept_StaysForNextComparison(t *testing.T) {
	o := outbox.Options{Dir: t.TempDir(), Keep: time.Hour}
	b := open(t, o)
	restart := func() {
		closeBox(t, b)
		b = open(t, o)
	}
	for n := range 3 { // three segments with one record each
		add(t, b, n, n+1)
		left(t, b)
		restart()
	}
	for i, want := range [][]int{{0, 1, 2}, {1, 2}, {2}} {
		for _, k := range b.Kept().Segments() {
			if !k.Compared {
				if err := b.Kept().FinishComparison([]outbox.KeptSegment{k}); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		restart()
		if got := keptRecords(t, b); !slices.Equal(got, want) {
			t.Errorf("after comparison %d: %v, want %v", i+1, got, want)
		}
	}
	add(t, b, 3, 4)
	left(t, b)
	restart()
	if err := b.Kept().RemoveSegments(b.Kept().Segments()); err != nil {
		t.Fatal(err)
	}
	if s := b.Stats(); s.KeptReadings != 0 || s.Segments != 0 || s.Uncompared != 1 {
		t.Errorf("%+v, want one reading that was not compared", s)
	}
}

// clearBytes overwrites a range of a file with zeros.
func clearBytes(t *testing.T, file string, from, to int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[from:to])
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKept_ExcludesLostRecords damages all records of a segment and some of another one before they are
// confirmed. The first segment must not be kept. The lost readings of the second one must not count as
// unconfirmed.
func TestKept_ExcludesLostRecords(t *testing.T) {
	o := outbox.Options{Dir: t.TempDir(), Keep: time.Hour}
	for n := range 2 {
		b := open(t, o)
		add(t, b, 10*n, 10*n+10)
		closeBox(t, b)
	}
	first, second := filepath.Join(o.Dir, "0000000001.outbox"), filepath.Join(o.Dir, "0000000002.outbox")
	if err := os.Truncate(first, 28); err != nil { // only the header is left
		t.Fatal(err)
	}
	clearBytes(t, second, 100, 101)
	b := open(t, o)
	if got := left(t, b); !slices.Equal(got, sequence(11, 20)) {
		t.Fatalf("%v", got)
	}
	if s := b.Stats(); s.Readings != 0 || s.Segments != 1 || s.KeptReadings != 10 {
		t.Errorf("%+v, want one segment without unconfirmed readings", s)
	}
}

// TestKept_SkipsDamage damages a kept segment, and removes another one. All other records must be read.
// Nothing may be reported as lost, because the server has confirmed the records.
func TestKept_SkipsDamage(t *testing.T) {
	var e events
	o := outbox.Options{Dir: t.TempDir(), SegmentBytes: 10_000, Keep: time.Hour, Events: e.callbacks()}
	b := open(t, o)
	add(t, b, 0, 100)
	left(t, b)
	closeBox(t, b)
	b = open(t, o)
	files, err := filepath.Glob(filepath.Join(o.Dir, "*.outbox"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	clearBytes(t, files[0], 2000, 2100)
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	lost := int(b.Kept().Segments()[1].Readings)
	got := keptRecords(t, b)
	if missing := 100 - len(got) - lost; missing < 1 || missing > 2 || !slices.IsSorted(got) || got[0] != 0 || got[len(got)-1] != 99 {
		t.Errorf("%v", got)
	}
	if s := b.Stats(); s.DamagedBytes != 0 || len(e.damage)+len(e.failed) > 0 {
		t.Errorf("%+v, %v, %v", s, e.damage, e.failed)
	}
}
