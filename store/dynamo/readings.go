package dynamo

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/writer"
)

// Write implements store.Writer.
func (s *Store) Write(ctx context.Context, batches []store.Batch) []store.Result {
	if err := s.calls.enter(ctx); err != nil {
		results := make([]store.Result, len(batches))
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	defer s.calls.leave()
	return s.writer.Write(ctx, batches)
}

// Read implements store.Reader.
func (s *Store) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	if err := s.calls.enter(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.calls.leave()
	return s.reader.Read(ctx, r, dst)
}

// Latest implements store.Reader.
func (s *Store) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	if err := s.calls.enter(ctx); err != nil {
		return varve.Reading{}, false, store.Cost{}, err
	}
	defer s.calls.leave()
	return s.reader.Latest(ctx, l)
}

// Estimate implements store.Reader.
func (s *Store) Estimate(ctx context.Context, r store.Range) (store.Cost, error) {
	if err := s.calls.enter(ctx); err != nil {
		return store.Cost{}, err
	}
	defer s.calls.leave()
	return s.reader.Estimate(ctx, r)
}

// StreamLayout implements store.LayoutReader.
func (s *Store) StreamLayout(ctx context.Context, tenant, stream string) (store.StreamLayout, error) {
	if err := s.calls.enter(ctx); err != nil {
		return store.StreamLayout{}, err
	}
	defer s.calls.leave()
	return s.layouts.StreamLayout(ctx, tenant, stream)
}

// StreamLayouts implements store.LayoutReader.
func (s *Store) StreamLayouts(ctx context.Context) ([]store.StreamLayout, error) {
	if err := s.calls.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.leave()
	return s.layouts.StreamLayouts(ctx)
}

// Series implements store.Enumerator. It scans the table, and needs the permission dynamodb:Scan.
func (s *Store) Series(ctx context.Context, q store.SeriesQuery) (store.SeriesPage, error) {
	if err := s.calls.enter(ctx); err != nil {
		return store.SeriesPage{}, err
	}
	defer s.calls.leave()
	return s.reader.Series(ctx, q)
}

// Erase implements store.Eraser. It needs the permission dynamodb:DeleteItem on the table.
func (s *Store) Erase(ctx context.Context, e store.Erasure) (n int64, err error) {
	err = s.calls.do(ctx, func() error {
		n, err = s.writer.Erase(ctx, e)
		return err
	})
	return n, err
}

// ErasureDelay implements store.Eraser.
func (s *Store) ErasureDelay() time.Duration { return writer.ErasureDelay }

// PurgeItems implements store.Eraser. DynamoDB stores no remains of deleted items, except in
// backups.
func (s *Store) PurgeItems(ctx context.Context, _ []string) error {
	return s.calls.do(ctx, func() error { return nil })
}
