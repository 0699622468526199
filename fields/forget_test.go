package fields_test

import (
	"encoding/base64"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/store"
)

// TestForget_CountsNamesAnew deletes the item of a series, as an erasure does. Then the series must
// accept as many new names as at first, and its new item must have none of the earlier names.
func TestForget_CountsNamesAnew(t *testing.T) {
	items := newItems()
	r := fields.New(items, 20)
	admit(t, r, with("a", upTo(0, 20)...))
	key := store.Key{PK: "FIELDS#t/s/a", SK: "#NAMES"}
	if err := items.DeleteAll(t.Context(), []store.Key{key}); err != nil {
		t.Fatal(err)
	}
	r.Forget(varve.Series{Tenant: "t", Stream: "s", Device: "other"})
	r.Forget(varve.Series{Tenant: "t", Stream: "s", Device: "a"})
	expect(t, admit(t, r, with("a", upTo(20, 40)...)), "ok")
	found, err := items.Get(t.Context(), []store.Key{key}, true)
	if err != nil || len(found) != 1 {
		t.Fatal(err, found)
	}
	if hashes, err := base64.StdEncoding.DecodeString(found[0].Attrs["names"].Text()); err != nil || len(hashes) != 20*8 {
		t.Errorf("the item has %d bytes, %v", len(hashes), err)
	}
}
