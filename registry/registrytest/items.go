// Package registrytest provides an in-memory registry for tests.
//
// [Items] counts requests, and tests can make it fail or return outdated items. [FailOn] selects
// the items whose writes fail with [ErrDisk]. A failing write changes nothing. Requests may be
// concurrent, but tests may use the fields of Items only while no request is running.
package registrytest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// ErrDisk is the error with which FailOn fails requests.
var ErrDisk = errors.New("the disk is full")

// Items is an in-memory store that counts requests. Tests may use its fields only while no
// request is running.
type Items struct {
	*mem.Store
	Batches    []int              // numbers of items in the calls of PutAbsent
	Gets       int                // number of calls of Get
	Queries    int                // number of calls of Query
	Returned   int                // number of items that Query returned
	Unreadable error              // if set, every Query returns this error
	Lagging    func([]store.Item) // if set, changes the results of eventually consistent calls of Get

	mu   sync.Mutex
	puts map[string]int // number of writes by Put and PutAbsent, by sort key
	fail func(store.Key) error
}

// New returns an empty store.
func New(now func() time.Time) *Items {
	return &Items{Store: mem.New(now), puts: map[string]int{}}
}

// FailOn returns a function for FailWrites. With it, writes and deletions of an item fail if its sort
// key begins with one of the prefixes.
func FailOn(prefixes ...string) func(store.Key) error {
	return func(k store.Key) error {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(k.SK, p) }) {
			return ErrDisk
		}
		return nil
	}
}

// FailWrites makes writes and deletions of an item fail with the error that the function "fail"
// returns for its key. If the function is nil, none fail.
func (s *Items) FailWrites(fail func(store.Key) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// Failing returns the error with which writes of a key fail, or nil if they succeed.
func (s *Items) Failing(k store.Key) error {
	s.mu.Lock()
	fail := s.fail
	s.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(k)
}

// Puts returns how often Put and PutAbsent were called for items with a sort key, in any partition. It
// includes failed calls.
func (s *Items) Puts(sk string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.puts[sk]
}

// Query implements store.Items.
func (s *Items) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	s.mu.Lock()
	s.Queries++
	err := s.Unreadable
	s.mu.Unlock()
	if err != nil {
		return store.ItemPage{}, err
	}
	page, err := s.Store.Query(ctx, q)
	s.mu.Lock()
	s.Returned += len(page.Items)
	s.mu.Unlock()
	return page, err
}

// Put implements store.Items.
func (s *Items) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	s.mu.Lock()
	s.puts[it.SK]++
	s.mu.Unlock()
	if err := s.Failing(it.Key); err != nil {
		return err
	}
	return s.Store.Put(ctx, it, conds...)
}

// PutAbsent implements store.Items.
func (s *Items) PutAbsent(ctx context.Context, items []store.Item) ([]bool, error) {
	s.mu.Lock()
	s.Batches = append(s.Batches, len(items))
	for i := range items {
		s.puts[items[i].SK]++
	}
	s.mu.Unlock()
	for i := range items {
		if err := s.Failing(items[i].Key); err != nil {
			return nil, err
		}
	}
	return s.Store.PutAbsent(ctx, items)
}

// Delete implements store.Items.
func (s *Items) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	if err := s.Failing(k); err != nil {
		return err
	}
	return s.Store.Delete(ctx, k, conds...)
}

// Get implements store.Items.
func (s *Items) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	s.mu.Lock()
	s.Gets++
	lagging := s.Lagging
	s.mu.Unlock()
	items, err := s.Store.Get(ctx, keys, consistent)
	if !consistent && lagging != nil {
		lagging(items)
	}
	return items, err
}

// PutAll implements store.Items.
func (s *Items) PutAll(ctx context.Context, items []store.Item) error {
	for i := range items {
		if err := s.Failing(items[i].Key); err != nil {
			return err
		}
	}
	return s.Store.PutAll(ctx, items)
}

// DeleteAll implements store.Items.
func (s *Items) DeleteAll(ctx context.Context, keys []store.Key) error {
	for _, k := range keys {
		if err := s.Failing(k); err != nil {
			return err
		}
	}
	return s.Store.DeleteAll(ctx, keys)
}
