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

// Read implements store.Reader. The cost is one request, and the chunks of level 1 that were read.
// Level 0 and memory cost nothing.
func (s *Store) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	return s.reader.Read(ctx, r, dst)
}

// ReadBlocks implements store.BlockReader. Consecutive readings of a chunk are returned as columns,
// unless they are few.
func (s *Store) ReadBlocks(ctx context.Context, r store.Range, dst []varve.Reading) (store.BlockPage, error) {
	return s.reader.ReadBlocks(ctx, r, dst)
}

// Estimate implements store.Reader. The cost is one request, and the number of chunks in the
// range.
func (s *Store) Estimate(ctx context.Context, r store.Range) (store.Cost, error) {
	return s.reader.Estimate(ctx, r)
}

// Latest implements store.Reader.
func (s *Store) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	return s.reader.Latest(ctx, l)
}

// Tables implements store.Catalog.
func (s *Store) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	return s.lifecycle.Tables(ctx, f)
}

// Create implements store.Creator.
func (s *Store) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	return s.lifecycle.Create(ctx, t, tier)
}

// Tune implements store.Lifecycle. A table that becomes cold is compacted in the background.
func (s *Store) Tune(ctx context.Context, t grid.Table, tier store.Tier) error {
	return s.lifecycle.Tune(ctx, t, tier)
}

// Retire implements store.Lifecycle.
func (s *Store) Retire(ctx context.Context, t grid.Table, at time.Time) error {
	return s.lifecycle.Retire(ctx, t, at)
}

// Restore implements store.Lifecycle.
func (s *Store) Restore(ctx context.Context, t grid.Table) error {
	return s.lifecycle.Restore(ctx, t)
}

// Hold implements store.Lifecycle.
func (s *Store) Hold(ctx context.Context, t grid.Table, reason string) error {
	return s.lifecycle.Hold(ctx, t, reason)
}

// Drop implements store.Lifecycle. The disk space of the table is released in the background.
func (s *Store) Drop(ctx context.Context, t grid.Table) error {
	return s.lifecycle.Drop(ctx, t)
}

// Get implements store.Items.
func (s *Store) Get(ctx context.Context, keys []store.Key, _ bool) ([]store.Item, error) {
	return s.stored.Get(ctx, keys)
}

// Query implements store.Items.
func (s *Store) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	return s.stored.Query(ctx, q)
}

// Put implements store.Items.
func (s *Store) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	return s.items.Put(ctx, it, conds...)
}

// PutAll implements store.Items with one batch and one sync.
func (s *Store) PutAll(ctx context.Context, items []store.Item) error {
	return s.items.PutAll(ctx, items)
}

// PutAbsent implements store.Items with one batch and one sync. If all items exist, it
// needs neither.
func (s *Store) PutAbsent(ctx context.Context, items []store.Item) ([]bool, error) {
	return s.items.PutAbsent(ctx, items)
}

// Delete implements store.Items.
func (s *Store) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	return s.items.Delete(ctx, k, conds...)
}

// DeleteAll implements store.Items.
func (s *Store) DeleteAll(ctx context.Context, keys []store.Key) error {
	return s.items.DeleteAll(ctx, keys)
}

// Apply implements store.AtomicItems with one batch and one sync.
func (s *Store) Apply(ctx context.Context, changes []store.Change) error {
	return s.items.Apply(ctx, changes)
}

// AcceptLosses accepts all losses, so that the store serves the remaining data. It returns the
// accepted losses.
//
// Items in a lost range are deleted, because the remaining copies may be out of date, such as a
// revoked API key. The items of restore whose keys are in a lost range are written instead. Files
// that were set aside are kept. Lost roll-ups must be recounted: see Unrecounted.
func (s *Store) AcceptLosses(ctx context.Context, restore ...store.Item) ([]Loss, error) {
	return s.repair.AcceptLosses(ctx, restore...)
}

// Losses returns the data that is refused because of damage.
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

// Verify reads every file of an open store, and reports all damage. New damage is set aside in
// the background. Earlier damage that is still refused is reported, too.
func (s *Store) Verify(ctx context.Context, pace Pace, report func(Problem)) error {
	return s.report.Verify(ctx, pace, report)
}

// Series returns the series that have chunks, in no order. It ignores readings in memtables. Right
// after Open, no memtable has readings.
func (s *Store) Series(ctx context.Context) ([]varve.Series, error) {
	return s.reader.Series(ctx)
}

// Partitions returns the partitions of items with a prefix, in order.
func (s *Store) Partitions(ctx context.Context, prefix string) ([]string, error) {
	return s.stored.Partitions(ctx, prefix)
}

// DeleteExpired implements store.Expirer. It skips readings in memtables, and series with damaged
// chunks. A chunk that also has live readings is rewritten without the expired ones.
func (s *Store) DeleteExpired(ctx context.Context, t grid.Table, cutoff func(varve.Series) time.Time) (int64, error) {
	return s.compactor.DeleteExpired(ctx, t, cutoff)
}

// SyncTimes are the durations of the journal's commits.
type SyncTimes = journal.SyncTimes

// SyncTimes returns the durations of commits since the store was opened.
func (s *Store) SyncTimes() SyncTimes { return s.db.journal.SyncTimes() }
