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

// TestCheck_FailsClosedOnDamage checks that all requests are denied if damage has destroyed the
// keys, even after the loss was accepted.
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

// TestCheck_FailsClosedAfterJournalLoss loses the journal with the only key. Requests must require a key
// after a repair, even after an interrupted repair.
func TestCheck_FailsClosedAfterJournalLoss(t *testing.T) {
	for _, lose := range []string{"journal", filepath.Join("journal", "0000000001.journal")} {
		t.Run(filepath.Base(lose), func(t *testing.T) {
			dir := withKeyInJournal(t)
			if err := os.RemoveAll(filepath.Join(dir, lose)); err != nil {
				t.Fatal(err)
			}
			mark := apikeys.OnMark(time.Now())
			s := reopen(t, local.Options{Dir: dir, MinFree: -1, Salvage: true, Guarded: []store.Key{mark.Key}})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = reopen(t, local.Options{Dir: dir, MinFree: -1})
			if on, err := apikeys.New(s, time.Now).On(t.Context()); !on || !errors.Is(err, store.ErrDamaged) {
				t.Errorf("after a repair that was cut off, keys are on: %v, %v", on, err)
			}
			if _, err := s.AcceptLosses(t.Context(), mark); err != nil {
				t.Fatal(err)
			}
			if on, err := apikeys.New(s, time.Now).On(t.Context()); !on || err != nil {
				t.Errorf("after the loss was accepted, keys are on: %v, %v", on, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func reopen(t *testing.T, o local.Options) *local.Store {
	t.Helper()
	s, err := local.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withKeyInJournal returns the data folder of a killed process. It contains one key, which is only
// in the journal.
func withKeyInJournal(t *testing.T) string {
	t.Helper()
	from, dir := filepath.Join(t.TempDir(), "running"), filepath.Join(t.TempDir(), "killed")
	s := reopen(t, local.Options{Dir: from, MinFree: -1})
	_, _, err := apikeys.New(s, time.Now).Create(t.Context(), apikeys.Draft{Name: "first", Tenant: varve.DefaultTenant, Scopes: apikeys.Admin})
	err = errors.Join(err, os.CopyFS(dir, os.DirFS(from)), s.Close())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
