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

// TestList_RemovesAbandonedFiles lists a folder with temporary files of a day ago and of now. The list must
// remove only the old one. Neither Open nor the list of another folder may remove it.
func TestList_RemovesAbandonedFiles(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"/a", "/b"} {
		if err := os.Mkdir(root+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"/a/.varve-OLD", "/a/.varve-NEW", "/a/.other"} {
		if err := os.WriteFile(root+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-25 * time.Hour)
	if err := errors.Join(os.Chtimes(root+"/a/.varve-OLD", old, old), os.Chtimes(root+"/a/.other", old, old)); err != nil {
		t.Fatal(err)
	}
	f, err := folder.Open(root, folder.Shared)
	if err != nil {
		t.Fatal(err)
	}
	checkNoObjects(t, f, "b/")
	entries, err := os.ReadDir(root + "/a")
	if err != nil || len(entries) != 3 {
		t.Errorf("after a list of another folder: %v, %v; want 3 files", entries, err)
	}
	checkNoObjects(t, f, "a/")
	entries, err = os.ReadDir(root + "/a")
	if err != nil || len(entries) != 2 || entries[0].Name() != ".other" || entries[1].Name() != ".varve-NEW" {
		t.Errorf("%v, %v; want .other and .varve-NEW", entries, err)
	}
}

func checkNoObjects(t *testing.T, f *folder.Folder, prefix string) {
	t.Helper()
	err := f.List(t.Context(), prefix, func(o objectstore.Object) error { return errors.New(o.Key) })
	if err != nil {
		t.Errorf("%s has an object: %v", prefix, err)
	}
}
