package folder_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/objectstore/objectstest"
)

func TestFolder_ConformsToContract(t *testing.T) {
	f, err := folder.Open(t.TempDir()+"/new/archive", folder.Shared)
	if err != nil {
		t.Fatal(err)
	}
	objectstest.Run(t, f)
}

func TestFolder_RefusesKeysOutside(t *testing.T) {
	f, err := folder.Open(t.TempDir(), folder.Shared)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"../x", "/x", "a/../../x", ""} {
		if err := f.PutNew(t.Context(), key, nil); err == nil {
			t.Errorf("key %q was accepted", key)
		}
	}
}

// TestFolder_ListsAllAlthoughOneIsDeleted deletes objects while they are listed. The list must have all others.
func TestFolder_ListsAllAlthoughOneIsDeleted(t *testing.T) {
	root := t.TempDir()
	f, err := folder.Open(root, folder.Shared)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a/1", "a/2", "a/3", "b/1", "c/1"} {
		if err := f.PutNew(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	var keys []string
	err = f.List(t.Context(), "", func(o objectstore.Object) error {
		if keys = append(keys, o.Key); o.Key == "a/1" {
			return errors.Join(os.Remove(root+"/a/2"), os.RemoveAll(root+"/b"))
		}
		return nil
	})
	if want := []string{"a/1", "a/3", "c/1"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("%v, %v; want %v", keys, err, want)
	}
	if err := f.List(t.Context(), "d/", func(objectstore.Object) error { return errors.New("an object") }); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestOpen_RemovesAbandonedFiles opens a folder with temporary files of a day ago and of now. Only the old one is
// removed.
func TestOpen_RemovesAbandonedFiles(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"/.varve-OLD", "/.varve-NEW", "/.other"} {
		if err := os.WriteFile(root+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-25 * time.Hour)
	if err := errors.Join(os.Chtimes(root+"/.varve-OLD", old, old), os.Chtimes(root+"/.other", old, old)); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Open(root, folder.Shared); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 2 || entries[0].Name() != ".other" || entries[1].Name() != ".varve-NEW" {
		t.Errorf("%v, %v; want .other and .varve-NEW", entries, err)
	}
}
