package apikeys_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/store"
)

// TestList_HasLastUse checks that this process lists a use immediately, and other processes after
// WriteUsed. A failed write loses no use.
func TestList_HasLastUse(t *testing.T) {
	w := newWorld(t)
	_, admin := w.admin()
	k, text := w.create(apikeys.Draft{Name: "gateway", Scopes: apikeys.Read})
	used := func(r *apikeys.Registry) time.Time {
		t.Helper()
		list, err := r.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			if one.ID == k.ID {
				return one.Used
			}
		}
		t.Fatal("the key is not listed")
		return time.Time{}
	}
	if at := used(w.Registry); !at.IsZero() {
		t.Errorf("an unused key was used at %s", at)
	}
	begin := w.clock.Now().UTC().Truncate(time.Minute)
	w.allowed(text)
	w.allowed(admin)
	if at := used(w.Registry); !at.Equal(begin) {
		t.Errorf("used at %s, want %s", at, begin)
	}
	if at := used(w.other().Registry); !at.IsZero() {
		t.Errorf("before it is written, another process has %s", at)
	}
	w.items.Items = failing{w.items.Items}
	if err := w.WriteUsed(t.Context()); err == nil {
		t.Error("a failed write is no error")
	}
	w.items.Items = w.items.Items.(failing).Items
	for range 2 {
		if err := w.WriteUsed(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.allowed(text)
	}
	if at := used(w.other().Registry); !at.Equal(begin) {
		t.Errorf("another process has %s, want %s", at, begin)
	}
	w.clock.advance(3 * time.Minute)
	w.allowed(text)
	if err := w.WriteUsed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at, want := used(w.other().Registry), w.clock.Now().UTC().Truncate(time.Minute); !at.Equal(want) {
		t.Errorf("after a later use: %s, want %s", at, want)
	}
	if w.allowed("vk_" + k.ID + "_wrong") {
		t.Error("a wrong key is valid")
	}
}

type failing struct{ store.Items }

func (failing) PutAll(context.Context, []store.Item) error { return errors.New("the disk is full") }
