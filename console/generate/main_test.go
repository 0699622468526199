package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCopies_EqualPinnedLibraries downloads the pinned libraries and compares them with the
// committed copies. Without a network, it is skipped, but not in CI.
func TestCopies_EqualPinnedLibraries(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	want, err := readAll(ctx)
	if err != nil {
		if os.Getenv("CI") != "true" {
			t.Skipf("the libraries cannot be downloaded: %v", err)
		}
		t.Fatal(err)
	}
	compareFolder(t, filepath.Join("..", "source", "lib"), want)
}

// TestAssets_AreCurrent builds the assets and compares them with the committed ones.
func TestAssets_AreCurrent(t *testing.T) {
	want, err := build(filepath.Join("..", "source"))
	if err != nil {
		t.Fatal(err)
	}
	compareFolder(t, filepath.Join("..", "assets"), want)
}

// compareFolder checks that a folder has exactly the wanted files.
func compareFolder(t *testing.T, dir string, want map[string][]byte) {
	t.Helper()
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, text) {
			t.Errorf("%s/%s is not current: run go generate ./console", dir, name)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if _, ok := want[filepath.ToSlash(name)]; err == nil && !ok {
			t.Errorf("%s is not generated: run go generate ./console", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheck_RefusesOtherSum(t *testing.T) {
	for _, l := range libraries {
		if l.check(l.sum) != nil || l.check(l.sum+"x") == nil {
			t.Errorf("%s: the sum is not checked", l.name)
		}
	}
}
