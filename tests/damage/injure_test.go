package damage_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// injury is a change to one file of a store.
type injury struct {
	kind string
	file string // path relative to the store's folder
	what string // description for messages
}

func (i injury) String() string { return fmt.Sprintf("%s %s (%s)", i.kind, i.file, i.what) }

// injuries lists the kinds of damage, from which injure chooses at random. A kind that must be frequent
// occurs several times.
var injuries = []string{"flip", "flip", "flip", "flip", "truncate", "delete", "zero", "swap"}

// injure damages a random file of a store. It skips empty files, such as the lock file, and the
// file PID.
func injure(t *testing.T, rng *rand.Rand, dir string) injury {
	t.Helper()
	names := files(t, dir)
	name := names[rng.IntN(len(names))]
	in := injury{kind: injuries[rng.IntN(len(injuries))], file: name}
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch in.kind {
	case "flip":
		at, bit := rng.IntN(len(data)), rng.IntN(8)
		data[at] ^= 1 << bit
		in.what = fmt.Sprintf("bit %d of byte %d of %d", bit, at, len(data))
	case "truncate":
		n := rng.IntN(len(data))
		in.what = fmt.Sprintf("to %d of %d bytes", n, len(data))
		data = data[:n]
	case "zero":
		from := rng.IntN(len(data))
		to := min(from+1+rng.IntN(8<<10), len(data))
		clear(data[from:to])
		in.what = fmt.Sprintf("bytes %d to %d of %d", from, to, len(data))
	case "delete":
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return in
	case "swap":
		other := names[rng.IntN(len(names))]
		in.what = "with " + other
		swap(t, path, filepath.Join(dir, other))
		return in
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return in
}

func swap(t *testing.T, a, b string) {
	t.Helper()
	for _, move := range [][2]string{{a, a + ".swap"}, {b, a}, {a + ".swap", b}} {
		if a == b {
			return
		}
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
}

// files returns the files of a store, except empty files and the file PID.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() == 0 || d.Name() == "PID" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("files of %s: %v", dir, err)
	}
	return names
}
