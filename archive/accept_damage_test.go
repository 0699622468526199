package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

const (
	// manySeries exceeds two pages of Source.Series. Its days exceed six reads of a DigestReader, of
	// 1,024 rows each.
	manySeries = 2300
	// perSeries is the number of days per series. A page may end between two days of a series.
	perSeries    = 3
	manyReadings = manySeries * perSeries
)

// damagedWorld has an archive of a table with manySeries series, each with one reading on perSeries
// days.
type damagedWorld struct {
	*archive.Archiver
	store   *mem.Store
	objects *folder.Folder
	root    string
	record  archive.Record
}

func manyBatch() store.Batch {
	b := store.Batch{Table: table}
	for i := range manyReadings {
		b.Readings = append(b.Readings, varve.Reading{
			Series: varve.Series{Tenant: "acme", Stream: "s", Device: fmt.Sprintf("d%05d", i/perSeries)}, Time: time.Unix(table.Start, 0).Add(time.Duration(i%perSeries) * 24 * time.Hour),
			Arrived: table.Month.Start().Add(time.Hour), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i))}},
		})
	}
	return b
}

func newDamagedWorld(t *testing.T) *damagedWorld {
	t.Helper()
	w := &damagedWorld{store: mem.New(clock), root: t.TempDir()}
	var err error
	if w.objects, err = folder.Open(w.root, folder.Shared); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Create(t.Context(), table, store.Hot); err != nil {
		t.Fatal(err)
	}
	b := manyBatch()
	if res := w.store.Write(t.Context(), []store.Batch{b}); res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	w.Archiver = archive.New(archive.Options{
		Store: w.store, Items: w.store, Objects: w.objects, Prefix: "p", ClassOf: func(grid.Table) string { return "default" }, Now: clock,
		GroupRows: 100, FileBytes: 20_000,
	})
	if w.record, err = w.Archive(t.Context(), w.info()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *damagedWorld) info() *store.Info {
	return &store.Info{Table: table, Owned: true, Status: store.Active, Readings: manyReadings}
}

// removeFile removes a file with readings, and returns the readings that it had.
func (w *damagedWorld) removeFile(t *testing.T, r *archive.Record, n int) (had []varve.Reading) {
	t.Helper()
	key := w.FilesOf(t.Context(), r)[n]
	eachStored(w.objects, r.FilesDir(), func(_ string, list []varve.Reading) { had = append(had, list...) }, []string{key})
	if err := os.Remove(filepath.Join(w.root, filepath.FromSlash(key))); err != nil || len(had) == 0 {
		t.Fatal(len(had), err)
	}
	return had
}

// checkPlan checks that a plan lists exactly the given readings as lost.
func checkPlan(t *testing.T, p *archive.Acceptance, lost []varve.Reading) {
	t.Helper()
	want, series := map[parquetfile.DayDigest]bool{}, map[varve.Series]bool{}
	for i := range lost {
		want[parquetfile.DayDigest{Series: lost[i].Series, Day: int32(lost[i].Time.Unix() / (24 * 3600)), Readings: 1}] = true
		series[lost[i].Series] = true
	}
	m := &p.Lost
	if m.Readings != int64(len(lost)) || m.Days != int64(len(want)) || m.Series != int64(len(series)) || len(m.List) != len(want) {
		t.Errorf("%d readings of %d series in %d days (%d listed), want %d of %d in %d", m.Readings, m.Series, m.Days, len(m.List), len(lost), len(series), len(want))
	}
	for _, d := range m.List {
		if !want[d] {
			t.Fatalf("%+v is not lost", d)
		}
	}
	if p.Unexplained != 0 || p.DaysUnknown || !p.Rewrite || len(p.Damaged) != 1 {
		t.Errorf("unexplained %d, days unknown %t, rewrite %t, damaged %+v", p.Unexplained, p.DaysUnknown, p.Rewrite, p.Damaged)
	}
}

// TestAccept_ShowsLossOfDamagedFile removes a file from an archive of more than a page of series. The plan
// must list the lost series and days. Only the digest of the plan may be accepted, and the other readings
// must stay.
func TestAccept_ShowsLossOfDamagedFile(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *damagedWorld){
		"single": func(*testing.T, *damagedWorld) {},
		"merged": mergeWithEmpty,
	} {
		t.Run(name, func(t *testing.T) {
			w := newDamagedWorld(t)
			prepare(t, w)
			lost := w.removeFile(t, &w.record, 1)
			p, err := archive.NewAcceptor(w.Archiver).Plan(t.Context(), table, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, p, lost)
			if p.Series != manySeries-p.Lost.Series && p.Series != manySeries-p.Lost.Series+1 && p.Series != manySeries-p.Lost.Series+2 {
				t.Errorf("%d series remain", p.Series) // a series may have a day on each side of the lost file's bounds
			}
			if _, err := archive.NewAcceptor(w.Archiver).Accept(t.Context(), table, nil, "0123456789abcdef"); varve.FailureOf(err) != varve.Conflict {
				t.Errorf("another digest: %v", err)
			}
			w.checkHolds(t, p.Digest())
			r, err := archive.NewAcceptor(w.Archiver).Accept(t.Context(), table, nil, p.Digest())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Verify(t.Context(), &r); err != nil || r.Readings != manyReadings-int64(len(lost)) || r.Merged != "" {
				t.Errorf("%+v, %v", r, err)
			}
			list, err := archive.ListUnrecorded(t.Context(), w.Archiver, &r)
			if err != nil || name == "single" && len(list) < 3 {
				t.Errorf("the files of the damaged archive are not listed: %+v, %v", list, err)
			}
		})
	}
}

// checkHolds checks that an acceptance with a loss is refused while the archive or the table is on hold.
func (w *damagedWorld) checkHolds(t *testing.T, digest string) {
	t.Helper()
	catalog := w.Catalog()
	if _, err := catalog.Hold(t.Context(), table, "case 7"); err != nil {
		t.Fatal(err)
	}
	p, err := archive.NewAcceptor(w.Archiver).Plan(t.Context(), table, nil)
	if err != nil || p.Hold() != "case 7" || p.Digest() == digest {
		t.Fatal(err, p.Hold())
	}
	if _, err := archive.NewAcceptor(w.Archiver).Accept(t.Context(), table, nil, p.Digest()); varve.FailureOf(err) != varve.Conflict || !strings.Contains(err.Error(), "case 7") {
		t.Errorf("an archive on hold: %v", err)
	}
	if _, err := catalog.Hold(t.Context(), table, ""); err != nil {
		t.Fatal(err)
	}
	in := w.info()
	in.Hold = "trial"
	if p, err = archive.NewAcceptor(w.Archiver).Plan(t.Context(), table, in); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.NewAcceptor(w.Archiver).Accept(t.Context(), table, in, p.Digest()); varve.FailureOf(err) != varve.Conflict || !strings.Contains(err.Error(), "trial") {
		t.Errorf("a table on hold: %v", err)
	}
}

// mergeWithEmpty merges the archive with the archive of a table without readings.
func mergeWithEmpty(t *testing.T, w *damagedWorld) {
	t.Helper()
	rg, ok := grid.DefaultPolicy().Locate(time.Unix(table.Start, 0).AddDate(0, 0, -2), table.Month)
	if !ok {
		t.Fatal("no table")
	}
	empty := grid.Table{Prefix: table.Prefix, Range: rg, Month: table.Month}
	if err := w.store.Create(t.Context(), empty, store.Hot); err != nil {
		t.Fatal(err)
	}
	_, err := w.Archive(t.Context(), &store.Info{Table: empty, Owned: true, Status: store.Active})
	for range 2 {
		_, failed := w.Merge(t.Context(), nil, true)
		err = errors.Join(err, failed)
	}
	if err == nil {
		w.record, _, err = w.Catalog().Get(t.Context(), table)
	}
	if err != nil || w.record.Merged == "" {
		t.Fatal(w.record, err)
	}
}

// TestAccept_CountsReadingsOfTable erases half of the devices from the archive of an existing table, and
// restores the earlier record. The plan must list the readings that only the table has. The accepted record
// must require another comparison before the table may be dropped.
func TestAccept_CountsReadingsOfTable(t *testing.T) {
	w := newDamagedWorld(t)
	earlier, err := w.store.Get(t.Context(), []store.Key{{PK: archive.RecordsPK, SK: table.Name()}}, true)
	if err != nil {
		t.Fatal(err)
	}
	erased := func(r *varve.Reading) bool { return (r.Device[len(r.Device)-1]-'0')%2 == 1 }
	if _, err := w.Erase(t.Context(), []grid.Table{table}, erased, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Put(t.Context(), earlier[0]); err != nil {
		t.Fatal(err)
	}
	p, err := archive.NewAcceptor(w.Archiver).Plan(t.Context(), table, w.info())
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(manyReadings / 2); p.Erased != want || p.Loses() || p.InTable.Readings != want || p.InTable.Series != want/perSeries || p.InTable.Days != want {
		t.Fatalf("%+v, want %d erased readings", p, want)
	}
	r, err := archive.NewAcceptor(w.Archiver).Accept(t.Context(), table, w.info(), p.Digest())
	if err != nil || w.Verify(t.Context(), &r) != nil {
		t.Fatal(r, err)
	}
	in := w.info()
	in.Retired = clock().Add(-time.Hour)
	if err := w.Check(t.Context(), &r, in); err == nil {
		t.Error("the archive permits the drop of a table with more readings")
	}
	if r, err = w.Archive(t.Context(), in); err != nil || r.Readings != manyReadings || w.Check(t.Context(), &r, in) != nil {
		t.Errorf("archived again: %+v, %v", r, err)
	}
}

// TestAccept_RefusesArchiveThatIsNotReadableNow checks that a failed read does not count as a loss.
func TestAccept_RefusesArchiveThatIsNotReadableNow(t *testing.T) {
	w := newDamagedWorld(t)
	w.removeFile(t, &w.record, 1)
	for n, steps := -1, 0; n <= steps; n += 4 { // the first plan meets no fault, and counts the steps
		p := &process{at: n}
		a := archive.New(archive.Options{
			Store: w.store, Items: w.store, Objects: faultyObjects{w.objects, p}, Prefix: "p", ClassOf: func(grid.Table) string { return "default" }, Now: clock,
		})
		plan, err := archive.NewAcceptor(a).Plan(context.Background(), table, nil)
		if err == nil && (len(plan.Damaged) != 1 || plan.Lost.Readings == 0) {
			t.Fatalf("fault %d: %+v", n, plan)
		}
		if n < 0 {
			steps = p.steps
		}
	}
}
