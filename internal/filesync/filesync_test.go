package filesync_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/varvedb/varve/internal/filesync"
)

// TestRename_MovesFile renames a file to another folder. A rename to a missing folder must fail, and leave the
// file. A power cut is not simulated, so the test cannot show that the new name is durable.
func TestRename_MovesFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a"), filepath.Join(dir, "below", "b")
	if err := os.WriteFile(from, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := filesync.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a rename to a missing folder: %v", err)
	}
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := filesync.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(to); string(text) != "x" || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
	if err := filesync.Folder(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the sync of a missing folder: %v", err)
	}
}
