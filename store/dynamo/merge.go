package dynamo

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// merge reads the readings of all shards of a series in order.
type merge struct {
	shards []*scanner
	heads  [][]varve.Reading // what was read of each shard and not given out
}

// open returns a merge over a range; nil if there can be nothing in it.
func (s *Store) open(r store.Range) *merge {
	m := &merge{}
	for shard := range max(r.Layout.Shards, 1) {
		sc := s.scan(r, shard)
		if sc == nil {
			return nil
		}
		m.shards = append(m.shards, sc)
	}
	m.heads = make([][]varve.Reading, len(m.shards))
	return m
}

// next returns the next readings, in order, each of them once; none at the end.
func (m *merge) next(ctx context.Context) ([]varve.Reading, error) {
	if len(m.shards) == 1 {
		return m.shards[0].next(ctx)
	}
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	var out []varve.Reading
	for {
		first := m.first()
		if first < 0 {
			return out, nil
		}
		out = append(out, m.take(first))
		for i, sc := range m.shards {
			if len(m.heads[i]) == 0 && !sc.done() {
				return out, nil // what it has next may go before the others
			}
		}
	}
}

// fill reads on in the shards of which nothing is left.
func (m *merge) fill(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, sc := range m.shards {
		if len(m.heads[i]) == 0 && !sc.done() {
			g.Go(func() (err error) {
				m.heads[i], err = sc.next(ctx)
				return err
			})
		}
	}
	return g.Wait()
}

// first returns the shard with the next reading; -1 at the end.
func (m *merge) first() int {
	first := -1
	for i, head := range m.heads {
		if len(head) > 0 && (first < 0 || m.shards[i].compare(head[0], m.heads[first][0]) < 0) {
			first = i
		}
	}
	return first
}

// take takes the reading at which a shard is off all shards: of copies, the one
// that arrived first.
func (m *merge) take(first int) varve.Reading {
	pick := m.heads[first][0]
	at := pick.Position()
	for i, head := range m.heads {
		if len(head) == 0 || head[0].Position() != at {
			continue
		}
		if head[0].Arrived.Before(pick.Arrived) {
			pick = head[0]
		}
		m.heads[i] = head[1:]
	}
	return pick
}

// cost returns what reading has cost so far.
func (m *merge) cost() (c store.Cost) {
	for _, sc := range m.shards {
		c.Add(sc.cost)
	}
	return c
}

// done reports whether all has been given out.
func (sc *scanner) done() bool { return sc.ended && len(sc.held) == 0 }
