package folder_test

import (
	"testing"

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
