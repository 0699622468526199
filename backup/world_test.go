package backup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

var month = grid.MonthOf(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))

// table returns the table for readings whose event time and arrival are in the test's month.
func table(t *testing.T) grid.Table {
	t.Helper()
	r, ok := grid.DefaultPolicy().Locate(month.Start().Add(time.Hour), month)
	if !ok {
		t.Fatal("no table")
	}
	return grid.Table{Prefix: "t", Range: r, Month: month}
}

// world is an embedded store with a place for its backups.
type world struct {
	*testing.T
	store *local.Store
	table grid.Table
	dir   string // folder of the place
	place *backup.Place
	clock time.Time
	sent  int // number of written readings
	// before, if set, is called with the folder of each snapshot.
	before func(dir string)
	noise  *rand.PCG // source of random values
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, table: table(t), dir: filepath.Join(t.TempDir(), "place"), clock: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), noise: rand.NewPCG(1, 2)}
	var err error
	if w.store, err = local.Open(local.Options{Dir: t.TempDir(), MinFree: -1, ChunkReadings: 128, Now: w.now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := w.store.Create(t.Context(), w.table, store.Hot); err != nil {
		t.Fatal(err)
	}
	w.place = w.placeOf(w.folder(w.dir))
	return w
}

func (w *world) now() time.Time { return w.clock }

func (w *world) placeOf(o objectstore.Store) *backup.Place {
	return backup.NewPlace(o, "some/store", w.now)
}

func (w *world) folder(dir string) objectstore.Store {
	w.Helper()
	f, err := folder.Open(dir, folder.Private)
	if err != nil {
		w.Fatal(err)
	}
	return f
}

func (w *world) write(n int) {
	w.Helper()
	list := make([]varve.Reading, n)
	for i := range list {
		list[i] = varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "d"}, Arrived: month.Start().Add(48 * time.Hour),
			Time: w.table.Window().From.Add(time.Duration(w.sent+i) * time.Second),
			Fields: []varve.Field{
				{Name: "n", Value: varve.IntValue(int64(w.sent + i))},
				{Name: "noise", Value: varve.IntValue(int64(w.noise.Uint64() >> 1))}, //nolint:gosec // 63 bits
			},
		}
	}
	result := w.store.Write(w.Context(), []store.Batch{{Table: w.table, Readings: list}})[0]
	if result.Err != nil {
		w.Fatal(result.Err)
	}
	w.sent += n
}

// make takes a snapshot of the store, and makes a backup of it in a place.
func (w *world) make(p *backup.Place) (*backup.Report, error) {
	w.Helper()
	w.clock = w.clock.Add(time.Minute)
	made, err := w.store.Snapshot(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	defer func() {
		if err := made.Remove(); err != nil {
			w.Error(err)
		}
	}()
	if w.before != nil {
		w.before(made.Dir)
	}
	check := func(path string) (damage, err error) { return local.CheckFile(made.Dir, path) }
	return p.Make(w.Context(), backup.Snapshot{Dir: made.Dir, Store: made.Store, Created: made.Created, Version: "test", Check: check})
}

// restored restores and checks a backup. It returns the number of readings in the restored store.
func (w *world) restored(m *backup.Manifest) int {
	w.Helper()
	dir := filepath.Join(w.TempDir(), "restored")
	if err := w.place.Restore(w.Context(), m, dir, nil); err != nil {
		w.Fatal(err)
	}
	err := local.CheckFolder(w.Context(), dir, 0, func(p local.Problem) { w.Errorf("%+v", p) })
	if err != nil {
		w.Error(err)
	}
	s, err := local.Open(local.Options{Dir: dir, MinFree: -1})
	if err != nil {
		w.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			w.Error(err)
		}
	}()
	return count(w.T, s, w.table)
}

// count returns the number of readings of the device. It checks that the field n is 0 in the first
// reading, 1 in the second, and so on.
func count(t *testing.T, s *local.Store, in grid.Table) (n int) {
	t.Helper()
	r := store.Range{Table: in, Window: in.Window(), Order: varve.Ascending, Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "d"}}
	for {
		page, err := s.Read(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Readings {
			if v, _ := page.Readings[i].Field("n").Int(); v != int64(n) {
				t.Fatalf("reading %d has n = %d", n, v)
			}
			n++
		}
		if !page.More {
			return n
		}
		at := page.Readings[len(page.Readings)-1].Position()
		r.After = &at
	}
}

var errInjected = errors.New("injected")

// unreliable counts operations down in the field "left", and fails the one that reaches 0. If the field
// "dies" is set, all later ones fail, too.
type unreliable struct {
	objectstore.Store
	left int
	dies bool
	dead bool
}

func (u *unreliable) try(what string) error {
	u.left--
	u.dead = u.dead || u.left == 0 && u.dies
	if u.left == 0 || u.dead {
		return fmt.Errorf("%s: %w", what, errInjected)
	}
	return nil
}

func (u *unreliable) PutNew(ctx context.Context, key string, body []byte) error {
	if err := u.try("put " + key); err != nil {
		return err
	}
	return u.Store.PutNew(ctx, key, body)
}

func (u *unreliable) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := u.try("get " + key); err != nil {
		return nil, err
	}
	return u.Store.Get(ctx, key, offset, length)
}

func (u *unreliable) List(ctx context.Context, prefix string, each func(objectstore.Object) error) error {
	if err := u.try("list " + prefix); err != nil {
		return err
	}
	return u.Store.List(ctx, prefix, each)
}

func (u *unreliable) Delete(ctx context.Context, key string) error {
	if err := u.try("delete " + key); err != nil {
		return err
	}
	return u.Store.Delete(ctx, key)
}

// edit changes the content of file i of a backup. If the function "change" returns nil, edit removes the file.
func (w *world) edit(m *backup.Manifest, i int, change func(data []byte) []byte) {
	w.Helper()
	path := filepath.Join(w.dir, "some/store/files", m.Files[i].SHA256)
	data, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	if data = change(data); data == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		w.Fatal(err)
	}
}
