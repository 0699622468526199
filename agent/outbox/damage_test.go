package outbox_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/agent/outbox"
)

// TestDamage_LosesOnlyDamagedRecords changes, zeroes or cuts off random bytes of random files. All
// records outside of the damage must be returned in order, and each loss must be reported.
func TestDamage_LosesOnlyDamagedRecords(t *testing.T) {
	const all = 300
	lost := 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var e events
		mem := disk{vfs.NewMem()}
		o := outbox.Options{Disk: mem, MaxBytes: 16 << 20, SegmentBytes: 10_000, Events: e.callbacks()}
		b := open(t, o)
		for n := 0; n < all; n += 10 {
			var records []outbox.Record
			for i := range 10 {
				records = append(records, record(n+i))
			}
			if err := b.Append(t.Context(), records); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		bytes := injure(t, rng, mem)
		b = open(t, o)
		got := left(t, b)
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("seed %d: order of records: %v", seed, got)
		}
		missing := all - len(got)
		if lost += missing; missing > 2+bytes/200 {
			t.Errorf("seed %d: %d records are lost by %d damaged bytes", seed, missing, bytes)
		}
		if missing > 0 && len(e.damage)+len(e.torn) == 0 {
			t.Errorf("seed %d: %d records are lost without a report", seed, missing)
		}
		if len(e.failed) > 0 {
			t.Errorf("seed %d: %v", seed, e.failed)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if lost < 100 {
		t.Errorf("%d records were lost in all: too few to prove anything", lost)
	}
}

// injure damages or cuts off bytes of one segment, and returns their number.
func injure(t *testing.T, rng *rand.Rand, d disk) int {
	t.Helper()
	names, err := d.List("box")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "CURSOR") })
	slices.Sort(names)
	name := "box/" + names[rng.IntN(len(names))]
	data := content(t, d, name)
	at := rng.IntN(len(data))
	end := min(len(data), at+1+rng.IntN(600))
	n := end - at
	switch rng.IntN(3) {
	case 0:
		for i := at; i < end; i++ {
			data[i] ^= byte(1 + rng.IntN(255))
		}
	case 1:
		clear(data[at:end])
	case 2:
		data = data[:len(data)-n]
	}
	f, err := d.FS.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

func content(t *testing.T, d disk, name string) []byte {
	t.Helper()
	f, err := d.FS.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzOpen opens a folder with a segment and a cursor of any content. Open must neither fail nor hang.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("varve-o1"), []byte("varve-c1"))
	f.Add(make([]byte, 300), []byte{})
	f.Fuzz(func(t *testing.T, segment, cursor []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"0000000001.outbox": segment, "CURSOR": cursor} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b := open(t, outbox.Options{Dir: dir, MaxBytes: outbox.MinBytes})
		for {
			batch, err := b.Next(ends(), 1000, 10)
			if err != nil {
				break
			}
			if err := b.Confirm(batch); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Append(t.Context(), []outbox.Record{record(1)}); err != nil {
			t.Fatal(err)
		}
		if got := next(t, b, 1000, 10); len(got.Records) != 1 || numberOf(t, got.Records[0]) != 1 {
			t.Errorf("%d records", len(got.Records))
		}
	})
}
