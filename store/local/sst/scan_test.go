package sst_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve/store/local/sst"
)

func options(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest}
	o.EnsureDefaults()
	return o
}

// makeFile writes a file of n entries in small blocks, and returns its keys.
func makeFile(t *testing.T, fs vfs.FS, path string, n, indexBlock int) [][]byte {
	t.Helper()
	o := options(fs)
	wo := o.MakeWriterOptions(6, pebble.FormatNewest.MaxTableFormat())
	wo.BlockSize, wo.IndexBlockSize = 512, indexBlock
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), wo)
	rng := rand.New(rand.NewPCG(1, 2))
	var keys [][]byte
	for i := range n {
		key := fmt.Appendf(nil, "key%06d", i)
		value := make([]byte, 40)
		for j := range value {
			value[j] = byte(rng.Uint32())
		}
		if err := w.Set(key, value); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return keys
}

func read(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, info.Size())
	if _, err := f.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t *testing.T, fs vfs.FS, path string, data []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestScan_SkipsDamagedBlocks flips bits anywhere in a file. If the file can be opened, each key must be
// either read or in a hole. If the index is intact, only keys of damaged blocks may be in holes. A scan from
// a key must return the same keys as a scan of the whole file, from this key on.
func TestScan_SkipsDamagedBlocks(t *testing.T) {
	for _, indexBlock := range []int{1 << 20, 256} { // an index of one level, and of two
		fs := vfs.NewMem()
		keys := makeFile(t, fs, "whole.sst", 2000, indexBlock)
		whole := read(t, fs, "whole.sst")
		perBlock := 20 // more than the entries in a block: 512 bytes, and at least 40 bytes per entry
		rng := rand.New(rand.NewPCG(3, 4))
		unopened := 0
		for round := range 400 {
			data := slices.Clone(whole)
			flips := 1 + rng.IntN(4)
			inIndex := false
			for range flips {
				at := rng.IntN(len(data))
				inIndex = inIndex || at > len(data)*8/10
				data[at] ^= 1 << rng.IntN(8)
			}
			put(t, fs, "damaged.sst", data)
			got, holes, err := scan(fs, "damaged.sst", nil)
			if err != nil {
				if !pebble.IsCorruptionError(err) {
					t.Fatalf("round %d: %v", round, err)
				}
				unopened++
				continue
			}
			from := keys[rng.IntN(len(keys))]
			at, _ := slices.BinarySearchFunc(got, from, bytes.Compare)
			if rest, _, err := scan(fs, "damaged.sst", from); err != nil || !slices.EqualFunc(rest, got[at:], bytes.Equal) {
				t.Fatalf("round %d: from %s: %d keys, want %d: %v", round, from, len(rest), len(got)-at, err)
			}
			lost := 0
			for _, key := range keys {
				_, found := slices.BinarySearchFunc(got, key, bytes.Compare)
				in := slices.ContainsFunc(holes, func(g sst.Hole) bool {
					return (g.After == nil || bytes.Compare(g.After, key) < 0) && (g.Before == nil || bytes.Compare(key, g.Before) < 0)
				})
				if found == in {
					t.Fatalf("round %d: key %s: found %v, in a hole %v of %q", round, key, found, in, holes)
				}
				if in {
					lost++
				}
			}
			if !inIndex && lost > flips*perBlock {
				t.Errorf("round %d: %d flips lost %d keys", round, flips, lost)
			}
		}
		if unopened > 100 {
			t.Errorf("%d of 400 files could not be read at all", unopened)
		}
		t.Logf("index blocks of %d: %d of 400 could not be opened", indexBlock, unopened)
	}
}

func scan(fs vfs.FS, path string, from []byte) (keys [][]byte, holes []sst.Hole, err error) {
	f, err := sst.Open(fs, path, options(fs))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	s, err := f.Scan(from, 0)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	for {
		ok, err := s.Next()
		if err != nil || !ok {
			return keys, s.Holes(), err
		}
		keys = append(keys, bytes.Clone(s.Entry().Key))
	}
}
