package rollup_test

import (
	"context"
	"errors"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"slices"
)

var errCrash = errors.New("crashed")

// hooked is a store that can stop the process, or call a function, before any of its calls.
type hooked struct {
	*mem.Store
	calls  int    // number of calls before the interrupted call; if negative, no call is interrupted
	before func() // called once before the interrupted call; if nil, the process stops instead
	late   bool   // if true, the process stops after the call has taken effect
	down   bool   // if true, the process has stopped, so every call fails until another process takes over
	wrote  func(store.Batch, store.Result)

	torn      int  // number of the item in the next PutAll before which the process stops; 0 means none
	backwards bool // if true, PutAll writes its items in reverse order
	readings  bool // if true, ReadBlocks returns no blocks
}

// call makes a call of the store. It fails if the process has stopped, or stops at this call.
func (h *hooked) call(do func() error) error {
	if h.down {
		return errCrash
	}
	h.calls--
	if h.calls != -1 {
		return do()
	}
	if before := h.before; before != nil {
		h.before = nil
		before()
		return do()
	}
	h.down = true
	if h.late {
		return errors.Join(do(), errCrash)
	}
	return errCrash
}

func (h *hooked) Write(ctx context.Context, batches []store.Batch) []store.Result {
	results := make([]store.Result, len(batches))
	for i, b := range batches {
		err := h.call(func() error {
			results[i] = h.Store.Write(ctx, []store.Batch{b})[0]
			if results[i].Err == nil {
				h.wrote(b, results[i])
			}
			return nil
		})
		if err != nil {
			results[i] = store.Result{Err: err}
		}
	}
	return results
}

func (h *hooked) Get(ctx context.Context, keys []store.Key, c bool) (items []store.Item, err error) {
	err = h.call(func() (err error) { items, err = h.Store.Get(ctx, keys, c); return err })
	return items, err
}

func (h *hooked) Query(ctx context.Context, q store.ItemQuery) (page store.ItemPage, err error) {
	err = h.call(func() (err error) { page, err = h.Store.Query(ctx, q); return err })
	return page, err
}

func (h *hooked) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	return h.call(func() error { return h.Store.Put(ctx, it, conds...) })
}

// PutAll writes one item at a time. If the process stops, only some of the items are written.
func (h *hooked) PutAll(ctx context.Context, items []store.Item) error {
	if items = slices.Clone(items); h.backwards {
		slices.Reverse(items)
	}
	torn := h.torn
	h.torn = 0
	for i := range items {
		if i+1 == torn {
			h.calls, h.before = 0, nil
		}
		if err := h.call(func() error { return h.Store.PutAll(ctx, items[i:i+1]) }); err != nil {
			return err
		}
	}
	return nil
}

func (h *hooked) DeleteAll(ctx context.Context, keys []store.Key) error {
	for i := range keys {
		if err := h.call(func() error { return h.Store.DeleteAll(ctx, keys[i:i+1]) }); err != nil {
			return err
		}
	}
	return nil
}

func (h *hooked) Read(ctx context.Context, r store.Range, dst []varve.Reading) (page store.Page, err error) {
	err = h.call(func() (err error) { page, err = h.Store.Read(ctx, r, dst); return err })
	return page, err
}
