package local

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
)

// Write implements store.Writer.
func (s *Store) Write(ctx context.Context, batches []store.Batch) []store.Result {
	return s.writer.Write(ctx, batches)
}

// Read implements store.Reader. The cost is one request, and one unit for each chunk of level 1 that
// was read. Level 0 and memory cost nothing.
func (s *Store) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	return s.reader.Read(ctx, r, dst)
}

// ReadBlocks implements store.BlockReader. It returns consecutive readings of a chunk or a memtable
// as columns, unless they are few.
func (s *Store) ReadBlocks(ctx context.Context, r store.Range, dst []varve.Reading) (store.BlockPage, error) {
	return s.reader.ReadBlocks(ctx, r, dst)
}

// Estimate implements store.Reader. The cost is one request, and one unit for each chunk in the range.
func (s *Store) Estimate(ctx context.Context, r store.Range) (store.Cost, error) {
	return s.reader.Estimate(ctx, r)
}

// Latest implements store.Reader.
func (s *Store) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	return s.reader.Latest(ctx, l)
}

// Get implements store.Items.
func (s *Store) Get(ctx context.Context, keys []store.Key, _ bool) ([]store.Item, error) {
	return s.stored.Get(ctx, keys)
}

// Query implements store.Items.
func (s *Store) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	return s.stored.Query(ctx, q)
}

// ItemVersion implements store.VersionedItems.
func (s *Store) ItemVersion(pk, sk string) (store.Version, bool) {
	return s.stored.db.versions.ItemVersion(pk, sk)
}

// ReadingVersion implements store.VersionedReadings.
func (s *Store) ReadingVersion(of varve.Series) (store.Version, bool) {
	return s.db.readings.ReadingVersion(of)
}

// AcceptLosses accepts all losses, so that the store serves the remaining data. It returns the
// accepted losses.
//
// Items in a lost range are deleted, because the remaining copies may be out of date, such as a
// revoked API key. If "restore" has items with keys in a lost range, these are written instead.
// Files that were set aside stay. Lost roll-ups must be recounted: see Unrecounted.
func (s *Store) AcceptLosses(ctx context.Context, restore ...store.Item) ([]Loss, error) {
	return s.repair.AcceptLosses(ctx, restore...)
}

// Losses returns the losses that are not accepted yet.
func (s *Store) Losses() []Loss {
	return s.report.Losses()
}

// Unrecounted returns the accepted losses of items whose roll-ups are not recounted yet.
func (s *Store) Unrecounted() []Loss {
	return s.repair.Unrecounted()
}

// Recounted records that the roll-ups of all accepted losses are recounted.
func (s *Store) Recounted(ctx context.Context) error {
	return s.repair.Recounted(ctx)
}

// Verify reads all files of Pebble in an open store, and reports all damage. New damage is set
// aside in the background. Verify also reports earlier losses that are not accepted yet.
func (s *Store) Verify(ctx context.Context, pace Pace, report func(Problem)) error {
	return s.report.Verify(ctx, pace, report)
}

// Series implements store.Enumerator. The first page has the series with readings in memory. The
// other pages have the series with chunks. To find these, Series reads only the keys of chunks.
func (s *Store) Series(ctx context.Context, q store.SeriesQuery) (store.SeriesPage, error) {
	return s.reader.Series(ctx, q)
}

// ChunkSeries returns the series that have chunks in any table, in any order. It ignores readings
// in memtables. Right after Open, no memtable has readings.
func (s *Store) ChunkSeries(ctx context.Context) ([]varve.Series, error) {
	return s.reader.ChunkSeries(ctx)
}

// Partitions returns the partition keys that begin with a prefix and have items, in order.
func (s *Store) Partitions(ctx context.Context, prefix string) ([]string, error) {
	return s.stored.Partitions(ctx, prefix)
}

// DeleteExpired implements store.Expirer. It skips readings in memtables, and series with damaged
// chunks. A chunk that also has live readings is rewritten without the expired ones.
func (s *Store) DeleteExpired(ctx context.Context, t grid.Table, cutoff func(varve.Series) time.Time, inUse func(event time.Time) bool) (int64, error) {
	return s.compactor.DeleteExpired(ctx, t, cutoff, inUse)
}

// Erase implements store.Eraser. Snapshots still have the readings until Snapshot.Remove, and files
// in damaged/ still have them, too.
func (s *Store) Erase(ctx context.Context, e store.Erasure) (int64, error) {
	return s.eraser.Erase(ctx, e)
}

// EraseTable erases readings of all series of a table, like Erase of each one. It ignores the series of the
// erasure.
func (s *Store) EraseTable(ctx context.Context, e store.Erasure) (int64, error) {
	return s.eraser.EraseTable(ctx, e)
}

// ErasureDelay implements store.Eraser.
func (s *Store) ErasureDelay() time.Duration { return s.eraser.ErasureDelay() }

// PurgeItems implements store.Eraser.
func (s *Store) PurgeItems(ctx context.Context, partitions []string) error {
	return s.eraser.PurgeItems(ctx, partitions)
}

// SyncTimes are the durations of the journal's commits.
type SyncTimes = journal.SyncTimes

// SyncTimes returns the durations of commits since the store was opened.
func (s *Store) SyncTimes() SyncTimes { return s.db.journal.SyncTimes() }
