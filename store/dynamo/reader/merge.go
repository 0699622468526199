package reader

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/kway"
	"github.com/varvedb/varve/store"
	"golang.org/x/sync/errgroup"
)

// merge reads the readings of a series from all its shards, in order.
type merge struct {
	shards []*scanner
	heads  [][]varve.Reading // readings of each shard that were read but not returned
}

// openMerge returns a merge of all shards of a range, or nil if the range is empty.
func (rd *Reader) openMerge(r store.Range) *merge {
	m := &merge{}
	for shard := range max(r.Layout.Shards, 1) {
		sc := rd.openScanner(r, shard)
		if sc == nil {
			return nil
		}
		m.shards = append(m.shards, sc)
	}
	m.heads = make([][]varve.Reading, len(m.shards))
	return m
}

// next returns the next readings in order, each once. At the end, it returns an empty slice.
func (m *merge) next(ctx context.Context) ([]varve.Reading, error) {
	if len(m.shards) == 1 {
		return m.shards[0].next(ctx)
	}
	if err := m.fillHeads(ctx); err != nil {
		return nil, err
	}
	var out []varve.Reading
	for {
		shard := m.nextShard()
		if shard < 0 {
			return out, nil
		}
		out = append(out, m.pop(shard))
		for i, sc := range m.shards {
			if len(m.heads[i]) == 0 && !sc.isDone() {
				return out, nil // the next reading of this shard may be before the other heads
			}
		}
	}
}

// fillHeads reads from the shards whose heads are empty.
func (m *merge) fillHeads(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, sc := range m.shards {
		if len(m.heads[i]) == 0 && !sc.isDone() {
			g.Go(func() (err error) {
				m.heads[i], err = sc.next(ctx)
				return err
			})
		}
	}
	return g.Wait()
}

// nextShard returns the shard that has the next reading, or -1 at the end.
func (m *merge) nextShard() int {
	head := func(i int) *varve.Reading {
		if len(m.heads[i]) == 0 {
			return nil
		}
		return &m.heads[i][0]
	}
	return kway.Least(len(m.heads), head, func(a, b *varve.Reading) bool { return m.shards[0].compare(*a, *b) < 0 })
}

// pop removes the next reading from all shards that have a copy of it. It returns the copy that
// arrived first.
func (m *merge) pop(shard int) varve.Reading {
	best := m.heads[shard][0]
	at := best.Position()
	for i, head := range m.heads {
		if len(head) == 0 || head[0].Position() != at {
			continue
		}
		if head[0].Arrived.Before(best.Arrived) {
			best = head[0]
		}
		m.heads[i] = head[1:]
	}
	return best
}

func (m *merge) cost() (c store.Cost) {
	for _, sc := range m.shards {
		c.Add(sc.cost)
	}
	return c
}
