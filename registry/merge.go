package registry

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/kway"
	"github.com/varvedb/varve/store"
)

// Span is a range of sort keys that is spread over several partitions of an index. A sort key
// occurs in only one of the partitions.
type Span struct {
	Index  store.Index
	PKs    []string
	Prefix string // the prefix of all sort keys of the span
	Order  varve.Order
	From   string // if set, only items whose sort keys are not before Prefix+From are returned
	To     string // if set, only items whose sort keys are before Prefix+To are returned
	After  string // if set, only items whose sort keys follow Prefix+After, in Order, are returned
	Limit  int
	// Consistent includes every acknowledged write; see store.ItemQuery.
	Consistent bool
	Match      func(*store.Item) bool // if set, only items for which the function returns true are included
	Stop       func() bool            // if set, called after each item; the result true ends the page
}

// source is one partition of a span, with the items that were read and not yet merged.
type source struct {
	q     store.ItemQuery
	items []store.Item
	more  bool
	grow  bool // if true, each page is longer than the page before, because many items may be skipped
}

// Merge returns the items of a span in order, and whether more may follow.
//
// A page ends at a sort key, not at an item of a partition. So the next page is correct even if
// items were added, removed, or moved to another partition in the meantime.
func Merge(ctx context.Context, from store.Items, s Span) (items []store.Item, more bool, err error) {
	sources := make([]*source, len(s.PKs))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(shards)
	for i, pk := range s.PKs {
		sources[i] = &source{q: s.query(pk), more: true, grow: s.Match != nil}
		g.Go(func() error { return sources[i].fill(gctx, from) })
	}
	if err := g.Wait(); err != nil {
		return nil, false, err
	}
	for {
		next := s.next(sources)
		if next == nil {
			return items, false, nil
		}
		if s.Match == nil || s.Match(&next.items[0]) {
			if len(items) == s.Limit {
				return items, true, nil
			}
			items = append(items, next.items[0])
		}
		next.items = next.items[1:]
		if s.Stop != nil && s.Stop() {
			return items, true, nil
		}
		if err := next.fill(ctx, from); err != nil {
			return nil, false, err
		}
	}
}

// next returns the source that has the next item in order. It returns nil if all sources are
// empty.
func (s *Span) next(sources []*source) *source {
	head := func(i int) *store.Item {
		if len(sources[i].items) == 0 {
			return nil
		}
		return &sources[i].items[0]
	}
	if i := kway.Least(len(sources), head, s.before); i >= 0 {
		return sources[i]
	}
	return nil
}

func (s *Span) before(a, b *store.Item) bool {
	if s.Order == varve.Descending {
		a, b = b, a
	}
	return a.In(s.Index).SK < b.In(s.Index).SK
}

// query returns the query for one partition. Its limit is an equal share of the page plus a
// margin, because real shares differ.
func (s *Span) query(pk string) store.ItemQuery {
	share := s.Limit / len(s.PKs)
	q := store.ItemQuery{Index: s.Index, PK: pk, From: s.Prefix, To: store.PrefixEnd(s.Prefix), Order: s.Order, Limit: share + share/4 + 2, Consistent: s.Consistent}
	if s.From != "" {
		q.From = s.Prefix + s.From
	}
	if s.To != "" {
		q.To = s.Prefix + s.To
	}
	switch {
	case s.After == "":
	case s.Order == varve.Descending:
		q.To = s.Prefix + s.After
	default:
		q.From = s.Prefix + s.After + "\x00"
	}
	return q
}

// fill reads the next items of the partition if all items that were read before have been merged.
func (c *source) fill(ctx context.Context, from store.Items) error {
	for len(c.items) == 0 && c.more {
		page, err := from.Query(ctx, c.q)
		if err != nil {
			return err
		}
		if c.items, c.more = page.Items, page.More; len(c.items) > 0 {
			c.q.After = &c.items[len(c.items)-1]
		}
		if c.grow {
			c.q.Limit = min(2*c.q.Limit, MaxLimit)
		}
	}
	return nil
}
