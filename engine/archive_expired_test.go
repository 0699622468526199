package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// expiring is a store whose database may delete expired readings on its own.
type expiring struct{ *mem.Store }

func (expiring) KeepExpired(context.Context) error { return nil }

// TestQuery_ReadsArchivedReadingsThatDatabaseDeleted archives a table. Then the database deletes some readings, as
// time to live does under earlier settings. With each setting, a query with archives must return them.
func TestQuery_ReadsArchivedReadingsThatDatabaseDeleted(t *testing.T) {
	for name, set := range map[string]func(*engine.Options){
		"false":    func(*engine.Options) {},
		"true":     func(o *engine.Options) { o.Rotation.Drop = true },
		"archived": func(o *engine.Options) { o.Rotation.Drop, o.Rotation.ArchiveFirst = true, true },
	} {
		clock := time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)
		now := func() time.Time { return clock }
		objects, err := folder.Open(t.TempDir(), folder.Shared)
		if err != nil {
			t.Fatal(err)
		}
		o := engine.Options{
			Store: expiring{mem.New(now)}, Rotation: engine.DefaultRotation(), Now: now, NoRollups: true, Schedule: "@yearly",
			Archive: engine.Archive{Objects: objects, Prefix: "p"},
		}
		set(&o)
		e, err := engine.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		e.WaitForFirst()
		table := tableOfOne(t, e, clock)
		list := hourlyReadings(table, clock, "d", "d", "d")
		if res := e.Store.Write(t.Context(), []store.Batch{{Table: table, Readings: list}}); res[0].Err != nil {
			t.Fatal(res[0].Err)
		}
		clock = clock.Add(60 * day)
		if _, err := e.ArchiveNow(t.Context(), []grid.Table{table}); err != nil {
			t.Fatal(err)
		}
		s := varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d"}
		deleted, err := e.Store.Erase(t.Context(), store.Erasure{Table: table, Series: s, Window: varve.Window{From: list[0].Time, To: list[2].Time}, Arrived: clock})
		if err != nil || deleted != 2 {
			t.Fatalf("%d deleted readings, %v", deleted, err)
		}
		n, cover, err := countRows(t, e, query.Query{Series: s, Window: varve.AllTime(), Archive: query.WithArchives})
		if n != 4 || err != nil {
			t.Errorf("retention.drop %s: %d readings, coverage %+v, %v, want 4", name, n, cover, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
