package meta

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestUnseal_FindsEveryFlippedBit(t *testing.T) {
	sealed := Seal("varve\nstore " + NewID().String() + "\n")
	if text, err := Unseal(sealed); err != nil || Seal(text) != sealed {
		t.Fatalf("Unseal = %q, %v", text, err)
	}
	for i := range len(sealed) * 8 {
		harmed := []byte(sealed)
		harmed[i/8] ^= 1 << (i % 8)
		if text, err := Unseal(string(harmed)); !errors.Is(err, ErrChecksum) {
			t.Errorf("bit %d: Unseal = %q, %v", i, text, err)
		}
	}
	for i := range len(sealed) {
		if text, err := Unseal(sealed[:i]); !errors.Is(err, ErrChecksum) {
			t.Errorf("first %d bytes: Unseal = %q, %v", i, text, err)
		}
	}
}

func TestParseID_ReadsString(t *testing.T) {
	id := NewID()
	if got, err := ParseID(id.String()); err != nil || got != id || id.IsZero() {
		t.Errorf("ParseID(%s) = %s, %v", id, got, err)
	}
	for _, text := range []string{"", "00", id.String() + "00", "zz" + id.String()[2:]} {
		if _, err := ParseID(text); err == nil {
			t.Errorf("ParseID(%q) succeeds", text)
		}
	}
}

// TestWrite_SurvivesCrash checks that a file has its new content after a power cut if Write had returned.
func TestWrite_SurvivesCrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	if err := fs.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := SyncFolder(fs, ""); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one\n", "two, longer\n", "3\n"} {
		if err := Write(fs, "d/F", text); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(fs.CrashClone(vfs.CrashCloneCfg{}), "d/F"); err != nil || got != text {
			t.Errorf("after a crash: %q, %v; want %q", got, err, text)
		}
	}
}
