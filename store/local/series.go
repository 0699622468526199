package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// seriesPage is the maximum number of series on a page of series with chunks.
const seriesPage = 1000

// chunkPages is the token of the first page of series with chunks. No series has this text.
const chunkPages = "chunks"

// Series implements store.Enumerator. It lists the series in memory before the series with chunks, so
// that it misses no series that is flushed in between.
func (rd *reader) Series(ctx context.Context, q store.SeriesQuery) (page store.SeriesPage, err error) {
	if err := rd.db.life.enter(ctx); err != nil {
		return page, err
	}
	defer rd.db.life.leave()
	page.Cost = store.Cost{Requests: 1}
	number, err := rd.seriesInMemory(q.Table, q.After == "", &page)
	if err != nil || q.After == "" {
		return page, err
	}
	defer func() { err = damaged(err, q.Table, varve.Series{}) }()
	return page, rd.seriesInChunks(ctx, number, &q, &page)
}

// seriesInMemory returns the number of a table. If list is true, it also adds the series of its
// memtables to the page.
func (rd *reader) seriesInMemory(t grid.Table, list bool, page *store.SeriesPage) (number uint32, err error) {
	rd.mem.mu.RLock()
	tb, err := rd.mem.table(t)
	rd.mem.mu.RUnlock()
	if err != nil {
		return 0, err
	}
	if list {
		for i := range rd.mem.mu.shards {
			page.Series = rd.mem.appendFilled(page.Series, tb, i)
		}
		page.Next = chunkPages
	}
	return tb.number, nil
}

// appendFilled appends the series of a shard that have readings in memtables.
func (m *memory) appendFilled(list []varve.Series, t *table, shard int) []varve.Series {
	s := &m.mu.shards[shard]
	s.RLock()
	defer s.RUnlock()
	for series, b := range t.buffers[shard] {
		if b.rows[0].Len() > 0 || b.rows[1].Len() > 0 {
			list = append(list, series)
		}
	}
	return list
}

// seriesInChunks adds the next series with chunks to the page. If keys of the table may be lost, it
// reports that or fails, because a missing series would not be noticed.
func (rd *reader) seriesInChunks(ctx context.Context, number uint32, q *store.SeriesQuery, page *store.SeriesPage) error {
	from := chunkSpace(number)
	end := after(from)
	if q.After != chunkPages {
		s, err := parseSeries(q.After)
		if err != nil {
			return err
		}
		from = after(appendSeriesSpace(nil, number, s))
	}
	var broken error
	report := func(err error) (failed bool) {
		if q.Damaged != nil {
			q.Damaged(damaged(err, q.Table, varve.Series{}))
			return false
		}
		broken = err
		return true
	}
	space := from
	err := rd.db.visitSome(ctx, from, end, func(key []byte) (next []byte) {
		k, ok := parseChunkKey(key)
		switch {
		case !ok:
			if report(fmt.Errorf("key of a chunk: %w: %x", store.ErrDamaged, key)) {
				return end
			}
			return append(slices.Clone(key), 0)
		case len(page.Series) == seriesPage:
			page.Next = page.Series[seriesPage-1].String()
			return end
		}
		page.Series = append(page.Series, k.series)
		return after(appendSeriesSpace(nil, number, k.series))
	})
	// Losses are looked up last, so that a loss that is recorded during the visit counts, too.
	if lost := rd.db.ledger.find(space, end).err(); lost != nil && broken == nil {
		report(lost)
	}
	return errors.Join(err, broken)
}

func parseSeries(text string) (varve.Series, error) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) != 3 {
		return varve.Series{}, varve.InvalidParam("after", "%.80q is not the token of a page", text)
	}
	return varve.Series{Tenant: parts[0], Stream: parts[1], Device: parts[2]}, nil
}

// ChunkSeries returns the series that have chunks in any table, in any order. It ignores readings
// in memtables. Right after Open, no memtable has readings.
func (rd *reader) ChunkSeries(ctx context.Context) (list []varve.Series, err error) {
	if err := rd.db.life.enter(ctx); err != nil {
		return nil, err
	}
	defer rd.db.life.leave()
	seen := map[varve.Series]bool{}
	err = rd.db.visitSome(ctx, []byte{spaceChunk}, []byte{spaceChunk + 1}, func(key []byte) (next []byte) {
		k, ok := parseChunkKey(key)
		if !ok {
			return append(slices.Clone(key), 0)
		}
		if !seen[k.series] {
			seen[k.series] = true
			list = append(list, k.series)
		}
		return after(appendSeriesSpace(nil, k.number, k.series))
	})
	return list, err
}
