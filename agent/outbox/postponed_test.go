package outbox_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/internal/randomtest"
)

// postponedRecords reads and confirms all postponed records, and returns their numbers.
func postponedRecords(t *testing.T, b *outbox.Outbox) (numbers []int) {
	t.Helper()
	for _, stream := range b.Postponed().Streams() {
		for {
			batch, err := b.Postponed().Next(stream, 0, 5000, 7)
			if err != nil {
				t.Fatal(err)
			}
			if batch == nil {
				break
			}
			for _, r := range batch.Records {
				numbers = append(numbers, numberOf(t, r))
			}
			if err := b.Postponed().Confirm(batch, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return numbers
}

// passOver reads all records of Next, postpones those for which isPostponed is true, and confirms the
// others. It returns the number of postponed records.
func passOver(t *testing.T, b *outbox.Outbox, isPostponed func(n int) bool) (postponed int) {
	t.Helper()
	for {
		batch, err := b.Next(ends(), 10_000, 40)
		if errors.Is(err, context.Canceled) {
			return postponed
		}
		if err != nil {
			t.Fatal(err)
		}
		var waiting []int
		for i, r := range batch.Records {
			if isPostponed(numberOf(t, r)) {
				waiting = append(waiting, i)
			}
		}
		postponed += len(waiting)
		if err := b.ConfirmExcept(batch, waiting); err != nil {
			t.Fatal(err)
		}
	}
}

func isOfStream1(n int) bool { return n%3 == 1 }

// multiples returns the numbers below n of the records of stream s1: 1, 4, 7 and so on.
func multiples(n int) (all []int) {
	for i := 1; i < n; i += 3 {
		all = append(all, i)
	}
	return all
}

// TestPostponed_SurvivesRestart postpones a third of all records. Next must not return them, not even after
// a restart. Their segments must be kept only once all their records are confirmed.
func TestPostponed_SurvivesRestart(t *testing.T) {
	for _, order := range []outbox.Order{outbox.OldestFirst, outbox.NewestFirst} {
		o := outbox.Options{Disk: disk{vfs.NewMem()}, SegmentBytes: 10_000, Keep: time.Hour, Order: order}
		b := open(t, o)
		add(t, b, 0, 300)
		passOver(t, b, isOfStream1)
		if s := b.Stats(); s.KeptReadings != 0 || s.Readings != 100 {
			t.Errorf("before the restart: %+v", s)
		}
		for range 2 {
			closeBox(t, b)
			b = open(t, o)
			if s := b.Stats(); s.Readings != 100 || s.Postponed != 100 || s.KeptReadings != 0 || !slices.Equal(b.Postponed().Streams(), []string{"s1"}) {
				t.Fatalf("%+v, streams %v", s, b.Postponed().Streams())
			}
			if got := left(t, b); len(got) > 0 {
				t.Fatalf("Next returned postponed records: %v", got)
			}
		}
		if got := postponedRecords(t, b); !slices.Equal(got, multiples(300)) {
			t.Errorf("%v", got)
		}
		if s := b.Stats(); s.Readings != 0 || s.Postponed != 0 || s.KeptReadings != 300 {
			t.Errorf("%+v", s)
		}
	}
}

// TestPostponed_MovesFewRecords moves the postponed records of all ended segments, which are a third of
// the records. Next must return the copies. Only the other records may be kept to compare, if Options.Keep
// is set. A second move must change nothing, because the segments then have mostly postponed records.
func TestPostponed_MovesFewRecords(t *testing.T) {
	for _, keep := range []time.Duration{0, time.Hour} {
		o := outbox.Options{Disk: disk{vfs.NewMem()}, SegmentBytes: 10_000, Keep: keep}
		b := open(t, o)
		add(t, b, 0, 300)
		passOver(t, b, isOfStream1)
		closeBox(t, b)
		b = open(t, o)
		if err := b.Postponed().Move(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept := keptRecords(t, b)
		if slices.ContainsFunc(kept, isOfStream1) || keep > 0 && len(kept) != 200 || keep == 0 && len(kept) != 0 {
			t.Errorf("keep %s: kept records %v", keep, kept)
		}
		s := b.Stats()
		if s.Readings != 100 || s.Postponed != 0 || s.KeptReadings != int64(len(kept)) || keep == 0 && s.Bytes > 40_000 {
			t.Errorf("keep %s: %+v", keep, s)
		}
		if n := passOver(t, b, isOfStream1); n != 100 {
			t.Errorf("keep %s: %d copies, want 100", keep, n)
		}
		closeBox(t, b)
		b = open(t, o)
		before := b.Stats()
		if err := b.Postponed().Move(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := b.Stats(); after != before {
			t.Errorf("keep %s: %+v, want no further move from %+v", keep, after, before)
		}
		if got := postponedRecords(t, b); !slices.Equal(got, multiples(300)) {
			t.Errorf("keep %s: %v", keep, got)
		}
	}
}

// TestPostponed_NeverDisplaces fills an outbox with postponed and confirmed records. With calls of Move, at
// least a quarter more records must fit before one is dropped or refused.
func TestPostponed_NeverDisplaces(t *testing.T) {
	for _, policy := range []outbox.Policy{outbox.DropOldest, outbox.RefuseNewest} {
		accepted := map[bool]int{}
		for _, moves := range []bool{false, true} {
			b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}, MaxBytes: outbox.MinBytes, Full: policy, Keep: time.Hour})
			for n := 0; n < 30_000 && b.Stats().Dropped == 0; n++ {
				if err := b.Append(t.Context(), []outbox.Record{record(n)}); err != nil {
					break
				}
				accepted[moves]++
				if n%500 == 499 {
					passOver(t, b, isOfStream1)
				}
				if n%500 == 499 && moves {
					if err := b.Postponed().Move(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if s := b.Stats(); s.Bytes > outbox.MinBytes {
					t.Fatalf("%+v", s)
				}
			}
		}
		if accepted[false] < 3000 || accepted[true] < accepted[false]*5/4 {
			t.Errorf("policy %d: %d records fit with moves, and %d without", policy, accepted[true], accepted[false])
		}
	}
}

// TestPostponed_SplitsRange leaves the first record of a range unconfirmed. The record must get a range of
// its own, so that it does not delay the others.
func TestPostponed_SplitsRange(t *testing.T) {
	b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}})
	add(t, b, 0, 30)
	passOver(t, b, isOfStream1)
	batch, err := b.Postponed().Next("s1", 0, 5000, 1)
	if err != nil || len(batch.Records) != 1 || numberOf(t, batch.Records[0]) != 1 {
		t.Fatal(batch, err)
	}
	if err := b.Postponed().Confirm(batch, []int{0}); err != nil {
		t.Fatal(err)
	}
	var got []int
	for turn := range 2 {
		batch, err := b.Postponed().Next("s1", turn, 50_000, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range batch.Records {
			got = append(got, numberOf(t, r))
		}
		if turn == 0 && len(got) != 1 {
			t.Errorf("%v, want only record 1", got)
		}
	}
	if !slices.Equal(got, multiples(30)) {
		t.Errorf("%v", got)
	}
}

// TestPostponed_MatchesModel postpones and confirms random records, moves postponed records to a later
// segment, and sometimes closes and reopens the outbox. No unconfirmed record may be lost, not even if
// ranges of postponed records in a segment are united.
func TestPostponed_MatchesModel(t *testing.T) {
	for seed := range uint64(randomtest.Part(20)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		o := outbox.Options{Disk: disk{vfs.NewMem()}, SegmentBytes: 60_000, Keep: time.Duration(seed%2) * time.Hour, Order: outbox.Order(seed / 2 % 2)}
		b := open(t, o)
		const all = 2000
		unconfirmed := map[int]bool{}
		share := 1 + rng.IntN(4)
		for from := 0; from < all; from += 200 {
			add(t, b, from, from+200)
			passOver(t, b, func(n int) bool { unconfirmed[n] = rng.IntN(share) == 0; return unconfirmed[n] })
			for range 10 {
				batch, err := b.Postponed().Next("s1", rng.IntN(5), 5000, 1+rng.IntN(10))
				if err != nil {
					t.Fatal(err)
				}
				if batch == nil {
					break
				}
				waiting := []int{rng.IntN(len(batch.Records))}
				for i, r := range batch.Records {
					if n := numberOf(t, r); !slices.Contains(waiting, i) {
						delete(unconfirmed, n)
					}
				}
				if err := b.Postponed().Confirm(batch, waiting); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Postponed().Move(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(3) == 0 {
				closeBox(t, b)
				b = open(t, o)
			}
		}
		got := append(left(t, b), postponedRecords(t, b)...)
		for n, isUnconfirmed := range unconfirmed {
			if isUnconfirmed && !slices.Contains(got, n) {
				t.Errorf("seed %d: record %d is lost", seed, n)
			}
		}
		if s := b.Stats(); s.Readings != 0 || s.Postponed != 0 || s.Dropped != 0 || s.DamagedBytes != 0 {
			t.Errorf("seed %d: %+v", seed, s)
		}
		closeBox(t, b)
	}
}

// TestPostponed_SkipsDamage damages a segment with postponed records, and removes another one. All other postponed
// records must be returned, and the losses must be reported.
func TestPostponed_SkipsDamage(t *testing.T) {
	var e events
	o := outbox.Options{Dir: t.TempDir(), SegmentBytes: 10_000, Events: e.callbacks()}
	b := open(t, o)
	add(t, b, 0, 300)
	passOver(t, b, isOfStream1)
	closeBox(t, b)
	b = open(t, o)
	files, err := filepath.Glob(filepath.Join(o.Dir, "*.outbox"))
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	clearBytes(t, files[0], 1000, 1800) // at least one record of each stream
	if err := os.Remove(files[2]); err != nil {
		t.Fatal(err)
	}
	got := postponedRecords(t, b)
	if len(got) < 80 || len(got) > 90 || !slices.IsSorted(got) || slices.ContainsFunc(got, func(n int) bool { return !isOfStream1(n) }) {
		t.Errorf("%d records: %v", len(got), got)
	}
	if s := b.Stats(); s.Readings != 0 || s.Postponed != 0 || s.DamagedBytes < 8000 || len(e.damage) < 2 || len(e.damage) > 4 {
		t.Errorf("%+v, damage %v", s, e.damage)
	}
}

// TestCursor_SurvivesDamage damages the file CURSOR. The previous file must be used instead, so that kept
// records stay confirmed. The damage must be reported once, and the damaged file must not replace the
// previous one.
func TestCursor_SurvivesDamage(t *testing.T) {
	for name, injure := range map[string]func(data []byte) []byte{
		"changed":  func(data []byte) []byte { data[20] ^= 1; return data },
		"shorter":  func(data []byte) []byte { return data[:len(data)-1] },
		"emptied":  func([]byte) []byte { return nil },
		"enlarged": func(data []byte) []byte { return append(data, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			var e events
			o := outbox.Options{Dir: t.TempDir(), SegmentBytes: 10_000, Keep: time.Hour, Events: e.callbacks()}
			b := open(t, o)
			add(t, b, 0, 100)
			left(t, b)
			closeBox(t, b)
			file := filepath.Join(o.Dir, "CURSOR")
			if err := os.WriteFile(file, injure([]byte(readFile(t, file))), 0o600); err != nil {
				t.Fatal(err)
			}
			older := readFile(t, file+".old")
			for range 2 {
				b = open(t, o)
				if got := left(t, b); len(got) > 0 {
					t.Errorf("%d records returned once more", len(got))
				}
				closeBox(t, b)
				if current := readFile(t, file+".old"); older != "" && current != older {
					t.Error("the older cursor was replaced")
				}
				older = ""
			}
			if len(e.damage) != 1 || len(e.failed) > 0 {
				t.Errorf("damage %v, failures %v, want one report", e.damage, e.failed)
			}
		})
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPostponed_CountsUnitedRanges postpones every second record of a stream in the first part of a segment, so
// that ranges are united. After the postponed records are confirmed, only the other part must be
// unconfirmed.
func TestPostponed_CountsUnitedRanges(t *testing.T) {
	b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}})
	add(t, b, 0, 1000)
	isPostponed := func(n int) bool { return n%6 == 1 }
	postponed := 0
	for n := 0; n < 900; {
		batch, err := b.Next(t.Context(), 10_000, min(40, 900-n))
		if err != nil {
			t.Fatal(err)
		}
		var waiting []int
		for i, r := range batch.Records {
			if isPostponed(numberOf(t, r)) {
				waiting = append(waiting, i)
			}
		}
		n += len(batch.Records)
		postponed += len(waiting)
		if err := b.ConfirmExcept(batch, waiting); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.Stats(); s.Readings != int64(100+postponed) || s.Postponed != int64(postponed) {
		t.Errorf("%+v, want %d postponed readings and 100 others", s, postponed)
	}
	postponedRecords(t, b)
	if s := b.Stats(); s.Readings != 100 || s.Postponed != 0 {
		t.Errorf("%+v, want 100 unconfirmed readings", s)
	}
}

// TestPostponed_IsolatesRecordInManyRanges never confirms one record, which is in the first range of a
// segment with too many ranges. Next must return all other records of its stream, so that they can be
// confirmed.
func TestPostponed_IsolatesRecordInManyRanges(t *testing.T) {
	b := open(t, outbox.Options{Disk: disk{vfs.NewMem()}, SegmentBytes: 1 << 20})
	add(t, b, 1, 1501)
	passOver(t, b, func(n int) bool { return isOfStream1(n) || n%6 == 0 })
	confirmed := map[int]bool{}
	for turn := range 200 {
		batch, err := b.Postponed().Next("s1", turn, 50_000, 20)
		if err != nil {
			t.Fatal(err)
		}
		var waiting []int
		for i, r := range batch.Records {
			if n := numberOf(t, r); n == 1 {
				waiting = append(waiting, i)
			} else {
				confirmed[n] = true
			}
		}
		if err := b.Postponed().Confirm(batch, waiting); err != nil {
			t.Fatal(err)
		}
	}
	if len(confirmed) != 499 {
		t.Errorf("%d records were confirmed, want 499", len(confirmed))
	}
}
