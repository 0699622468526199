package local_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestPutAll_RefusesChangeAboveFrame writes more items at once than a frame of the journal can have. The
// write must fail without an open outcome: nothing is stored, and later writes of the same items succeed.
func TestPutAll_RefusesChangeAboveFrame(t *testing.T) {
	dir := t.TempDir()
	s := open(t, local.Options{Dir: dir, MinFree: -1}.WithChangeBytes(1000))
	large := map[string]varve.Value{"text": varve.StringValue(strings.Repeat("x", 600))}
	err := s.PutAll(t.Context(), []store.Item{
		{Key: store.Key{PK: "p", SK: "a"}, GSI1: store.Key{PK: "g", SK: "a"}, Attrs: large},
		{Key: store.Key{PK: "p", SK: "b"}, GSI1: store.Key{PK: "g", SK: "b"}, Attrs: large},
	})
	if varve.FailureOf(err) != varve.Invalid || !strings.Contains(err.Error(), "write fewer items at a time") {
		t.Errorf("two large items at once: %v", err)
	}
	putItem(t, s, "a")
	if keys := itemsOf(t, s); !slices.Equal(keys, []string{"a"}) {
		t.Errorf("items %q are stored, want a alone", keys)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if keys := itemsOf(t, open(t, local.Options{Dir: dir, MinFree: -1})); !slices.Equal(keys, []string{"a"}) {
		t.Errorf("items %q are stored after a restart, want a alone", keys)
	}
}
