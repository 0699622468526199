package dynamo

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
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

// Survey implements store.Surveyor.
func (s *Store) Survey(ctx context.Context, tenant, stream string) (store.Survey, error) {
	if err := s.calls.enter(ctx); err != nil {
		return store.Survey{}, err
	}
	defer s.calls.leave()
	return s.layouts.Survey(ctx, tenant, stream)
}

// SurveyAll implements store.Surveyor.
func (s *Store) SurveyAll(ctx context.Context) ([]store.Survey, error) {
	if err := s.calls.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.leave()
	return s.layouts.SurveyAll(ctx)
}
