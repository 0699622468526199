package dynamo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestPutAll_WritesLargeItems writes 30 items in one call, and must read them page by page. The items are
// small, or have nearly 400 KB of bytes that JSON escapes. DynamoDB accepts at most 16 MB of JSON in a
// request.
func TestPutAll_WritesLargeItems(t *testing.T) {
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(dynamotest.Dynoxide.Start(t)), Registry: "t_registry"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, text := range map[string]string{"plain": "x", "escaped": strings.Repeat("\t\x01", 195<<10)} {
		items := make([]store.Item, 30)
		for i := range items {
			items[i] = store.Item{Key: store.Key{PK: name, SK: fmt.Sprintf("%02d", i)}, Attrs: map[string]varve.Value{"text": varve.StringValue(text)}}
		}
		if err := s.PutAll(t.Context(), items); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		q, n := store.ItemQuery{PK: name, Consistent: true}, 0
		for more := true; more; {
			page, err := s.Query(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Items {
				if it := &page.Items[i]; it.Key != items[n].Key || it.Attrs["text"].Text() != text {
					t.Fatalf("%s: item %s differs from the written one", name, it.SK)
				}
				n++
			}
			if more = page.More; more {
				q.After = &page.Items[len(page.Items)-1]
			}
		}
		if n != len(items) {
			t.Errorf("%s: %d items of %d", name, n, len(items))
		}
	}
}
