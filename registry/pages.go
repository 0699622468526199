package registry

import (
	"context"
	"iter"

	"github.com/varvedb/varve/store"
)

// All iterates over the items of a query. It reads them page by page.
//
// The limit of the query is the length of a page, not the number of all items. If the store
// fails, the iteration ends with a nil item and the error. An item is valid only until the next
// one is requested.
func All(ctx context.Context, items store.Items, q store.ItemQuery) iter.Seq2[*store.Item, error] {
	return func(yield func(*store.Item, error) bool) {
		for {
			page, err := items.Query(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Items {
				if !yield(&page.Items[i], nil) {
					return
				}
			}
			if !page.More || len(page.Items) == 0 {
				return
			}
			q.After = &page.Items[len(page.Items)-1]
		}
	}
}
