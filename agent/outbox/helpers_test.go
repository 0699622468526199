package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/agent/outbox"
)

// disk is an outbox.Disk on a file system of the package vfs.
type disk struct{ vfs.FS }

type diskFile struct{ vfs.File }

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (d disk) MakeFolder(dir string) error {
	if err := d.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return d.SyncFolder("")
}

func (d disk) Create(name string) (outbox.File, error) {
	f, err := d.FS.Create(name, vfs.WriteCategoryUnspecified)
	return diskFile{f}, err
}

func (d disk) Open(name string) (outbox.File, error) {
	f, err := d.FS.Open(name)
	return diskFile{f}, err
}

func (d disk) SyncFolder(dir string) error {
	f, err := d.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// record returns a record with one reading, whose line is long enough to fill segments.
func record(n int) outbox.Record {
	return outbox.Record{Stream: "s" + fmt.Sprint(n%3), Readings: 1, Lines: fmt.Appendf(nil, "%d %0200d\n", n, n)}
}

// numberOf returns the number that record put into a record.
func numberOf(t *testing.T, r outbox.Record) (n int) {
	t.Helper()
	var again int
	if _, err := fmt.Sscanf(string(r.Lines), "%d %d\n", &n, &again); err != nil || n != again || r.Stream != "s"+fmt.Sprint(n%3) {
		t.Fatalf("record %q of %s: %v", r.Lines, r.Stream, err)
	}
	return n
}

type events struct {
	mu      sync.Mutex
	dropped int64
	damage  []string
	torn    []string
	failed  []error
}

func (e *events) callbacks() outbox.Events {
	return outbox.Events{
		Dropped: func(readings, _ int64) { e.mu.Lock(); e.dropped += readings; e.mu.Unlock() },
		Damaged: func(file string, from, to int64) {
			e.mu.Lock()
			e.damage = append(e.damage, fmt.Sprintf("%s %d-%d", file, from, to))
			e.mu.Unlock()
		},
		Torn: func(file string, at, bytes int64) {
			e.mu.Lock()
			e.torn = append(e.torn, fmt.Sprintf("%s %d+%d", file, at, bytes))
			e.mu.Unlock()
		},
		Failed: func(err error) { e.mu.Lock(); e.failed = append(e.failed, err); e.mu.Unlock() },
	}
}

func open(t *testing.T, o outbox.Options) *outbox.Outbox {
	t.Helper()
	if o.Dir == "" {
		o.Dir = "box"
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 16 << 20
	}
	b, err := outbox.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// add appends the records with the numbers of the half-open range [from, to), one by one.
func add(t *testing.T, b *outbox.Outbox, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := b.Append(t.Context(), []outbox.Record{record(n)}); err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
	}
}

// left reads and confirms all records, and returns their numbers in the order of Next.
func left(t *testing.T, b *outbox.Outbox) (numbers []int) {
	t.Helper()
	for {
		batch, err := b.Next(ends(), 10_000, 40)
		if errors.Is(err, context.Canceled) {
			return numbers
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range batch.Records {
			numbers = append(numbers, numberOf(t, r))
		}
		if err := b.Confirm(batch); err != nil {
			t.Fatal(err)
		}
	}
}

func next(t *testing.T, b *outbox.Outbox, bytes, readings int) *outbox.Batch {
	t.Helper()
	batch, err := b.Next(t.Context(), bytes, readings)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func ends() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// sequence returns the numbers of the half-open range [from, to).
func sequence(from, to int) (all []int) {
	for n := from; n < to; n++ {
		all = append(all, n)
	}
	return all
}
