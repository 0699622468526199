package local

import (
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/local/memtable"
)

// WithBlockBytes returns options with another size of Pebble blocks.
func (o Options) WithBlockBytes(n int) Options {
	o.blockBytes = n
	return o
}

// WithChangeBytes returns options with another maximum size of a change of items.
func (o Options) WithChangeBytes(n int) Options {
	o.changeBytes = n
	return o
}

// WithCachedColumns returns options with another size of the cached columns of a memtable. If bytes is
// negative, columns are not cached.
func (o Options) WithCachedColumns(bytes int64, minRows int) Options {
	o.columns = memtable.Caching{Bytes: bytes, MinRows: minRows}
	return o
}

// WithShards returns options with another number of shards, which must be a power of two.
func (o Options) WithShards(n int) Options {
	o.shards = n
	return o
}

// RestoreMerged adds a copy of each chunk of level 1, as if Pebble had lost the deletion of a merged chunk.
// The copies have the chunk number 0. RestoreMerged records the keys of the copies as lost.
func (s *Store) RestoreMerged(ctx context.Context) (n int, err error) {
	batch := s.db.NewBatch()
	var copies []lost
	err = s.db.visit(ctx, []byte{spaceChunk}, []byte{spaceChunk + 1}, func(key, value []byte) error {
		k, ok := parseChunkKey(key)
		if !ok || k.level != level1 {
			return nil
		}
		n++
		key = slices.Clone(key)
		clear(key[len(key)-8:]) // the number of the chunk
		copies = append(copies, lost{From: key, To: next(key), Reason: "test"})
		return batch.Set(key, value, nil)
	})
	if err == nil {
		err = batch.Commit(pebble.NoSync)
	}
	if err == nil {
		err = s.db.ledger.add(copies)
	}
	return n, err
}

// AddDamagedKey adds a damaged key to the chunks of a table. The key has no series.
func (s *Store) AddDamagedKey(t grid.Table) error {
	number, err := s.reader.seriesInMemory(t, false, nil)
	if err != nil {
		return err
	}
	return s.db.Set(append(chunkSpace(number), "patient 17"...), nil, pebble.NoSync)
}

// LoseStats deletes the statistics of a table, and records their loss.
func (s *Store) LoseStats(t grid.Table) error {
	number, err := s.reader.seriesInMemory(t, false, nil)
	if err != nil {
		return err
	}
	key := statsKey(number)
	if err := s.db.Delete(key, pebble.NoSync); err != nil {
		return err
	}
	return s.db.ledger.add([]lost{{From: key, To: next(key), Reason: "test"}})
}

// CountFiles counts the files of Pebble with chunks only, with other keys only, and with both.
func (s *Store) CountFiles() (chunks, others, mixed int, err error) {
	parts, err := partsInUse(s.db.DB)
	for i := range parts {
		switch first, last := parts[i].first[0], parts[i].last[0]; {
		case first == spaceChunk && last == spaceChunk:
			chunks++
		case first > spaceChunk || last < spaceChunk:
			others++
		default:
			mixed++
		}
	}
	return chunks, others, mixed, err
}

// Compact flushes the memory of Pebble, and merges all files of Pebble.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.db.Flush(); err != nil {
		return err
	}
	return s.db.Compact(ctx, []byte{0}, []byte{0xff}, false)
}

func (s *Store) Dir() string { return s.db.folder.dir }

// Rewrite writes a key before and a key after all others, and compacts. Because of these keys, the
// compaction merges every file with another.
func (s *Store) Rewrite(ctx context.Context) error {
	for _, key := range [][]byte{{0}, {0xfe}} {
		if err := s.db.Set(key, nil, pebble.NoSync); err != nil {
			return err
		}
	}
	return s.Compact(ctx)
}

// SetAside sets aside all files that were found damaged.
func (s *Store) SetAside(ctx context.Context) error { return s.quarantine.setAsideAll(ctx) }

// SetMinPart changes how many consecutive readings ReadBlocks requires to return columns.
func SetMinPart(n int) { minPart = n }

// SetRepairBatch sets the size in bytes at which a repair commits a batch of deletions.
func SetRepairBatch(bytes int) { repairBatch = bytes }

// WaitsForRoom reports whether the mutable memtable is so full that every write waits.
func (s *Store) WaitsForRoom() bool {
	s.mem.mu.RLock()
	defer s.mem.mu.RUnlock()
	return s.mem.mutable.IsFull(2*s.db.opts.MemtableBytes + s.db.opts.MemtableBytes/4)
}
