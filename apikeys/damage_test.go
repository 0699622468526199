package apikeys_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestCheck_FailsClosedOnDamage: damage that took the keys denies all requests, also
// after the loss was accepted.
func TestCheck_FailsClosedOnDamage(t *testing.T) {
	dir := t.TempDir()
	open := func() *local.Store {
		t.Helper()
		s, err := local.Open(local.Options{Dir: dir, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	_, text, err := apikeys.New(s, time.Now).Create(t.Context(), apikeys.Draft{Name: "first", Tenant: varve.DefaultTenant, Scopes: apikeys.Admin})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		if err := os.Truncate(file, 100); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		s = open()
		r := apikeys.New(s, time.Now)
		if on, err := r.On(t.Context()); !on || !errors.Is(err, store.ErrDamaged) {
			t.Errorf("keys are on: %v, %v", on, err)
		}
		if grant, err := r.Check(t.Context(), text); grant != nil || !errors.Is(err, store.ErrDamaged) {
			t.Errorf("a key that is lost: %v, %v", grant, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s = open()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.AcceptLosses(t.Context(), apikeys.OnMark(time.Now())); err != nil {
		t.Fatal(err)
	}
	r := apikeys.New(s, time.Now)
	if on, err := r.On(t.Context()); !on || err != nil {
		t.Errorf("after the loss was accepted, keys are on: %v, %v", on, err)
	}
	if grant, err := r.Check(t.Context(), text); grant != nil || !errors.Is(err, apikeys.ErrNone) {
		t.Errorf("after the loss was accepted, a key that is lost: %v, %v", grant, err)
	}
}
