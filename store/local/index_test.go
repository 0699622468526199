package local_test

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestQuery_ReadsIndexAtOneMoment queries an index while its items move to another partition of the
// index and back, and are deleted. An answer must not contain an item that is in another partition
// of the index.
func TestQuery_ReadsIndexAtOneMoment(t *testing.T) {
	s := open(t, local.Options{Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		defer cancel()
		for i := range 2000 {
			it := store.Item{Key: store.Key{PK: "p", SK: fmt.Sprint(i % 7)}, GSI1: store.Key{PK: []string{"here", "there"}[i%2], SK: "x"}}
			if err := s.Put(t.Context(), it); err != nil {
				return err
			}
			if i%5 == 0 {
				if err := s.Delete(t.Context(), it.Key); err != nil {
					return err
				}
			}
		}
		return nil
	})
	answers := 0
	for ; ctx.Err() == nil; answers++ {
		page, err := s.Query(t.Context(), store.ItemQuery{Index: store.GSI1, PK: "here"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Items {
			if got := page.Items[i].GSI1.PK; got != "here" {
				t.Fatalf("item %s is in partition %q of the index", page.Items[i].SK, got)
			}
		}
	}
	if err := g.Wait(); err != nil || answers < 10 {
		t.Errorf("%d answers, %v", answers, err)
	}
}
