package varve_test

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

func parseID(t interface{ Fatal(...any) }, text string) varve.ID {
	id, err := varve.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestID_KeysSortLikeIDs checks that the keys of ids sort like the ids, and that ParseKey returns
// the id of a key.
func TestID_KeysSortLikeIDs(t *testing.T) {
	texts := rapid.SampledFrom([]string{"m", "m1", "m1 b", "m10", "A2345678901", "A2345678902", "é"})
	versions := rapid.SampledFrom([]uint32{0, 0, 1, 2, 9, 10, 99, 100, varve.MaxVersion - 1, varve.MaxVersion})
	rapid.Check(t, func(t *rapid.T) {
		a := parseID(t, texts.Draw(t, "a")).WithVersion(versions.Draw(t, "version of a"))
		b := parseID(t, texts.Draw(t, "b")).WithVersion(versions.Draw(t, "version of b"))
		if got, want := a.Compare(b), cmp.Compare(a.Key(), b.Key()); got != want {
			t.Errorf("Compare(%q, %q) = %d, want %d", a.Key(), b.Key(), got, want)
		}
		if (a == b) != (a.Key() == b.Key()) || a.IsVersionOf(b) != (a.String() == b.String()) {
			t.Errorf("%q and %q: equal %t, versions of one reading %t", a.Key(), b.Key(), a == b, a.IsVersionOf(b))
		}
		if back, err := varve.ParseKey(a.Key()); err != nil || back != a {
			t.Errorf("ParseKey(%q) = %q, %v", a.Key(), back.Key(), err)
		}
	})
}

// TestParseKey_RefusesOtherForms checks that ParseKey accepts only keys in the form that Key
// returns. So each id has a single key.
func TestParseKey_RefusesOtherForms(t *testing.T) {
	for _, key := range []string{"", "\x1f11", "m\x1f", "m\x1f1", "m\x1f10", "m\x1f201", "m\x1f12", "m\x1f1a", "m\x1f11\x1f11", "m\x1f:2147483648", "m\x1f1+", "m\x1f2+1"} {
		if id, err := varve.ParseKey(key); err == nil && key != "m\x1f12" {
			t.Errorf("ParseKey(%q) = %q, want an error", key, id.Key())
		}
	}
	id, err := varve.ParseKey("m\x1f12")
	if err != nil || id.String() != "m" || id.Version() != 2 {
		t.Errorf("version 2 of m: %s %d, %v", id, id.Version(), err)
	}
	if _, ok := varve.HashID(7).WithVersion(1).Hash(); ok {
		t.Error("a version of a hash is a hash")
	}
}
