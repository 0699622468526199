package idtext_test

import (
	"math"
	"testing"

	"github.com/varvedb/varve/internal/idtext"
)

// TestHash_HasDocumentedText checks texts at the limits. The first character has only 4 bits.
func TestHash_HasDocumentedText(t *testing.T) {
	for hash, want := range map[uint64]string{0: "-----------", 63: "----------z", 64: "---------0-", math.MaxUint64: "Ezzzzzzzzzz"} {
		got := string(idtext.AppendHash(nil, hash))
		if back, ok := idtext.ParseHash(got); got != want || !ok || back != hash {
			t.Errorf("hash %d has the text %q, read as %d, %t; want %q", hash, got, back, ok, want)
		}
	}
	for _, text := range []string{"", "----------", "------------", "F----------", "---- ------"} {
		if hash, ok := idtext.ParseHash(text); ok {
			t.Errorf("%q is read as hash %d, want none", text, hash)
		}
	}
}

// TestVersion_IsCutFromKey checks that a key is split, and that other forms of a version are refused.
func TestVersion_IsCutFromKey(t *testing.T) {
	key := string(idtext.AppendVersion([]byte("m1"), 10))
	if text, version, ok := idtext.CutVersion(key); key != "m1\x1f210" || text != "m1" || version != 10 || !ok {
		t.Errorf("key %q is cut into %q, %d, %t", key, text, version, ok)
	}
	if text, version, ok := idtext.CutVersion("m1"); text != "m1" || version != 0 || !ok {
		t.Errorf("m1 is cut into %q, %d, %t", text, version, ok)
	}
	for _, key := range []string{"m\x1f", "m\x1f1", "m\x1f10", "m\x1f110", "m\x1f201", "m\x1f1+", "m\x1f:2147483648"} {
		if text, version, ok := idtext.CutVersion(key); ok {
			t.Errorf("%q is cut into %q and %d, want a refusal", key, text, version)
		}
	}
}
