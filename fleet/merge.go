package fleet

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// span is a stretch of an index that lies in several partitions. No two of its
// items share a sort key.
type span struct {
	index  store.Index
	pks    []string
	prefix string // of all sort keys
	order  varve.Order
	after  string // only sort keys beyond prefix and this, in order; "": all
	limit  int
	keep   func(*store.Item) bool // those that count; nil: all
	enough func() bool            // asked after each item, whether to go no further; nil: never
}

// source is what was read of one partition.
type source struct {
	q    store.ItemQuery
	page []store.Item
	more bool
	grow bool // pages become longer, because much of them may be passed over
}

// merge returns the items of all partitions in one order, and whether there are
// more. Where a page ended is a sort key alone, so it goes on rightly after
// items have come, gone, or moved to another partition.
func (f *Fleet) merge(ctx context.Context, s span) (items []store.Item, more bool, err error) {
	sources := make([]*source, len(s.pks))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(shards)
	for i, pk := range s.pks {
		sources[i] = &source{q: s.query(pk), more: true, grow: s.keep != nil}
		g.Go(func() error { return sources[i].fill(gctx, f.opts.Items) })
	}
	if err := g.Wait(); err != nil {
		return nil, false, err
	}
	for {
		var first *source
		for _, c := range sources {
			if len(c.page) > 0 && (first == nil || s.before(&c.page[0], &first.page[0])) {
				first = c
			}
		}
		if first == nil {
			return items, false, nil
		}
		if s.keep == nil || s.keep(&first.page[0]) {
			if len(items) == s.limit {
				return items, true, nil
			}
			items = append(items, first.page[0])
		}
		first.page = first.page[1:]
		if s.enough != nil && s.enough() {
			return items, true, nil
		}
		if err := first.fill(ctx, f.opts.Items); err != nil {
			return nil, false, err
		}
	}
}

func (s *span) before(a, b *store.Item) bool {
	if s.order == varve.Descending {
		a, b = b, a
	}
	return a.In(s.index).SK < b.In(s.index).SK
}

// query asks for a partition's share of a page, and a little more, as shares
// differ.
func (s *span) query(pk string) store.ItemQuery {
	share := s.limit / len(s.pks)
	q := store.ItemQuery{Index: s.index, PK: pk, From: s.prefix, To: store.PrefixEnd(s.prefix), Order: s.order, Limit: share + share/4 + 2}
	switch {
	case s.after == "":
	case s.order == varve.Descending:
		q.To = s.prefix + s.after
	default:
		q.From = s.prefix + s.after + "\x00"
	}
	return q
}

// fill reads the next page if there is nothing left of the one before.
func (c *source) fill(ctx context.Context, items store.Items) error {
	for len(c.page) == 0 && c.more {
		page, err := items.Query(ctx, c.q)
		if err != nil {
			return err
		}
		if c.page, c.more = page.Items, page.More; len(c.page) > 0 {
			c.q.After = &c.page[len(c.page)-1]
		}
		if c.grow {
			c.q.Limit = min(2*c.q.Limit, MaxLimit)
		}
	}
	return nil
}
