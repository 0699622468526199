package engine_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// TestErasure_RewritesArchives erases a device while its table is archived and on hold. It erases
// another device after the table was dropped, while the archive is on hold. After the release of each
// hold, the archive must lose all readings of the erased device, and no others.
func TestErasure_RewritesArchives(t *testing.T) {
	w := openArchiveWorld(t)
	table := tableOfOne(t, w.Engine, w.clock)
	list := hourlyReadings(table, w.clock, "x", "y", "x", "y", "y")
	if _, err := w.Streams.Register(t.Context(), varve.DefaultTenant, "weather", "default", 0); err != nil {
		t.Fatal(err)
	}
	if res := w.Store.Write(t.Context(), []store.Batch{{Table: table, Readings: list}}); res[0].Err != nil || res[0].Verdicts[4].Outcome != varve.Stored {
		t.Fatalf("%+v", res)
	}
	w.run(400 * day)
	w.ArchiveTables()
	archived := func() int64 {
		t.Helper()
		r, found, err := w.Archiver.Catalog().Get(t.Context(), table)
		if err == nil && found {
			err = w.Archiver.Verify(t.Context(), &r)
		}
		if err != nil || !found {
			t.Fatal(found, err)
		}
		return r.Readings
	}
	if err := w.Store.Hold(t.Context(), table, "trial"); err != nil {
		t.Fatal(err)
	}
	if r := w.finish("x", erasures.Held); len(r.Holds) != 2 || archived() != 6 {
		t.Errorf("%+v, the archive has %d readings", r, archived())
	}
	if err := w.Store.Hold(t.Context(), table, ""); err != nil {
		t.Fatal(err)
	}
	if r := w.finish("x", erasures.Done); len(r.Erased) != 2 || archived() != 4 {
		t.Errorf("%+v, the archive has %d readings", r, archived())
	}
	w.ArchiveTables()
	w.run(10 * day)
	if exists(t, w.Engine, table) {
		t.Fatal("the table was not dropped")
	}
	w.holdArchive(table, "case 7")
	if r := w.finish("y", erasures.Held); len(r.Erased) != 0 || len(r.Holds) != 1 || r.Holds[0].Hold != "case 7" || archived() != 4 {
		t.Errorf("%+v, the archive on hold has %d readings", r, archived())
	}
	if _, err := w.Archiver.Erase(t.Context(), []grid.Table{table}, func(*varve.Reading) bool { return true }, nil); err == nil || archived() != 4 {
		t.Errorf("archive on hold: %v", err)
	}
	w.holdArchive(table, "")
	if r := w.finish("y", erasures.Done); len(r.Erased) != 1 || r.Erased[0].Readings != 3 || archived() != 1 {
		t.Errorf("%+v, the archive has %d readings", r, archived())
	}
}

// hourlyReadings returns a reading of each listed device. The first reading is at the
// beginning of the table's window, and each other reading is an hour after the previous one.
func hourlyReadings(in grid.Table, arrived time.Time, devices ...string) (list []varve.Reading) {
	for i, device := range devices {
		list = append(list, varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}, Arrived: arrived,
			Time: in.Window().From.Add(time.Duration(i) * time.Hour), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i))}},
		})
	}
	return list
}

func (w *archiveWorld) holdArchive(table grid.Table, reason string) {
	w.t.Helper()
	if _, err := w.Archiver.Catalog().Hold(w.t.Context(), table, reason); err != nil {
		w.t.Fatal(err)
	}
}

// finish erases all data of a device, and works on all erasures until this one has the given state.
func (w *archiveWorld) finish(device string, want erasures.State) (r erasures.Record) {
	w.t.Helper()
	target := erasures.Target{Tenant: varve.DefaultTenant, Device: device, Window: varve.AllTime()}
	p, err := w.Erasures.Plan(w.t.Context(), target)
	if err == nil {
		r, err = w.Erasures.Begin(w.t.Context(), target, p.Digest(), "")
	}
	for range 20 {
		if err == nil {
			_, err = w.Erasures.Run(w.t.Context())
		}
		if err == nil {
			r, err = w.Erasures.Get(w.t.Context(), r.ID)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if r.State == want {
			return r
		}
		w.clock = w.clock.Add(20 * time.Minute)
	}
	w.t.Fatalf("erasure %+v, want state %s", r, want)
	return r
}
