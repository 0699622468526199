package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local"
)

// refused opens a folder that cannot be used, and returns the error.
func refused(t *testing.T, o local.Options) error {
	t.Helper()
	s, err := local.Open(o)
	if err == nil {
		t.Fatalf("a folder that cannot be used was opened, and closed with %v", s.Close())
	}
	return err
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOpen_RefusesFolderInUse checks that the error names the process that has the folder open,
// and that the folder can be opened afterward.
func TestOpen_RefusesFolderInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, local.Options{Dir: dir})
	err := refused(t, local.Options{Dir: dir})
	if varve.FailureOf(err) != varve.Conflict || !strings.Contains(err.Error(), "in use by another process (pid ") {
		t.Errorf("a folder in use: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, local.Options{Dir: dir})
}

// TestOpen_RefusesUnusableFolder checks that the error has one line, and that the folder is
// unchanged.
func TestOpen_RefusesUnusableFolder(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ name, file, text, want string }{
		{"foreign", "photo.jpg", "x", "not empty and not Varve's (it has photo.jpg in it)"},
		{"later", "VARVE", "varve embedded store, format 9\n", "format 9"},
		{"file/is/no/folder", "../../../file", "x", "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := filepath.Join(dir, tt.name)
			file := filepath.Join(at, tt.file)
			put(t, file, tt.text)
			if tt.name == "file/is/no/folder" {
				if err := os.RemoveAll(filepath.Join(dir, "file")); err != nil {
					t.Fatal(err)
				}
				put(t, filepath.Join(dir, "file"), tt.text)
				file = filepath.Join(dir, "file")
			}
			err := refused(t, local.Options{Dir: at})
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", tt.name, err)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != tt.text {
				t.Errorf("the file is %q, %v", text, err)
			}
		})
	}
}

// TestOpen_RefusesReadOnlyFolder checks the error if no file can be created.
func TestOpen_RefusesReadOnlyFolder(t *testing.T) {
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return os.ErrPermission
		}
		return nil
	}))
	if err := refused(t, local.Options{Dir: "data", FS: fs}); !strings.Contains(err.Error(), "data folder data: ") {
		t.Errorf("a read-only folder: %v", err)
	}
}

// TestOpen_ReportsOverwrittenFiles checks that overwritten files are reported as an error or as damage,
// and never lead to an empty store or a panic.
func TestOpen_ReportsOverwrittenFiles(t *testing.T) {
	tests := []struct{ name, glob string }{
		{"Pebble's manifest", "pebble/MANIFEST-*"},
		{"the journal", "journal/*"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, local.Options{Dir: dir})
			tb := week(t, 0)
			create(t, s, tb)
			write(t, s, tb, readings(t, tb, "d", 1000), varve.Stored)
			if tt.glob != "journal/*" {
				if err := s.Close(); err != nil { // flushes the memtable
					t.Fatal(err)
				}
				s = open(t, local.Options{Dir: dir})
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				write(t, s, tb, readings(t, tb, "e", 1000), varve.Stored)
			}
			copied := t.TempDir() // as after a kill: Close empties the journal
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(copied, tt.glob))
			reported := false
			damaged, err := local.Open(local.Options{Dir: copied, Events: local.Events{
				Fatal:   func(msg string) { t.Log(msg) },
				Damaged: func(string, error) { reported = true },
			}})
			if err != nil {
				if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), copied) {
					t.Errorf("the error is not one line with the folder's name: %v", err)
				}
				return
			}
			defer func() { _ = damaged.Close() }() // the error is expected, because the store is damaged
			if list, err := readAll(t, damaged, tb, "d"); err == nil && (!reported || len(list) != 1000) {
				t.Errorf("%s was written over: %d readings, reported: %v", tt.name, len(list), reported)
			}
		})
	}
}

// damage changes the bytes from offset 20 to 1,999 in each file, except in its last quarter.
func damage(t *testing.T, glob string) {
	t.Helper()
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files, %v", glob, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 20; i < len(text)*3/4 && i < 2000; i++ {
			text[i] ^= 0x5a
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpen_UsesMountedFolders checks that a new store is created in existing empty folders, such
// as disks that were just mounted.
func TestOpen_UsesMountedFolders(t *testing.T) {
	dir := t.TempDir()
	for _, part := range []string{"journal/lost+found", "pebble"} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	putItem(t, open(t, local.Options{Dir: dir}), "x")
}
