package sst_test

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/store/local/sst"
)

func openFile(t *testing.T, fs vfs.FS, path string, write func(w *sstable.Writer) error) *sst.File {
	t.Helper()
	o := options(fs)
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), o.MakeWriterOptions(6, pebble.FormatNewest.MaxTableFormat()))
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := sst.Open(fs, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestMerge_DeletesOnlyKeysOfPart merges a part whose file deletes a range beyond the part. Keys outside of
// the part must still have their values.
func TestMerge_DeletesOnlyKeysOfPart(t *testing.T) {
	fs := vfs.NewMem()
	values := openFile(t, fs, "values.sst", func(w *sstable.Writer) error {
		for _, key := range "abcdef" {
			if err := w.Set([]byte{byte(key)}, []byte("v")); err != nil {
				return err
			}
		}
		return nil
	})
	deletions := openFile(t, fs, "deletions.sst", func(w *sstable.Writer) error { return w.DeleteRange([]byte("b"), []byte("f")) })
	for _, c := range []struct{ first, last, want string }{{"b", "f", "af"}, {"d", "f", "abcf"}, {"b", "c", "adef"}} {
		m, err := sst.NewMerge([]sst.Part{
			{File: deletions, First: []byte(c.first), Last: []byte(c.last), Seq: 9},
			{File: values, Seq: 5},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for {
			ok, err := m.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if e, _ := m.Entry(); e.HasValue {
				got.Write(e.Key)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if got.String() != c.want {
			t.Errorf("the part from %s to %s leaves %q, want %q", c.first, c.last, got.String(), c.want)
		}
	}
}
