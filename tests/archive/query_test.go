package archive_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/objectstore/s3"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/tests/s3test"
)

// fleet is the number of devices in TestQuery_ReadsMonthByRanges.
const fleet = 20

// TestQuery_ReadsMonthByRanges writes a month of readings of several devices, one a minute. It archives
// their tables in a bucket and in a folder, and drops them. A query of one device must then need at most
// two requests per table. After the archives are merged, it must need at most four requests.
func TestQuery_ReadsMonthByRanges(t *testing.T) {
	endpoint, _ := s3test.Start(t)
	b, err := s3.Open(t.Context(), s3.Options{Bucket: s3test.Bucket, Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	f, err := folder.Open(t.TempDir(), folder.Shared)
	if err != nil {
		t.Fatal(err)
	}
	for name, objects := range map[string]objectstore.Store{"s3": b, "folder": f} {
		t.Run(name, func(t *testing.T) { checkMonth(t, objects) })
	}
}

func checkMonth(t *testing.T, objects objectstore.Store) {
	at := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	w := &droppedMonth{clock: at.Add(-time.Hour)}
	w.open(t, objects)
	defer w.Close()
	w.fill(t, at.AddDate(0, -1, 0))
	archived := w.archiveAndDrop(t)
	w.checkReads(t, at, archived, map[string]int{"cold": 2 * archived, "warm": archived})
	for range 2 { // the second call deletes the files of the single archives
		if _, err := w.Archiver.Merge(t.Context(), nil, true); err != nil {
			t.Fatal(err)
		}
	}
	if merged, err := w.Archiver.Catalog().ListMerged(t.Context()); err != nil || len(merged) != 1 {
		t.Fatalf("merged archives: %+v, %v", merged, err)
	}
	w.checkReads(t, at, archived, map[string]int{"cold": 4, "warm": 2})
}

// checkReads queries a month of one device twice: first without cached manifests and footers
// (cold), and then with them (warm). The month ends at the given time. The argument "most" has the
// largest allowed number of requests of each query.
func (w *droppedMonth) checkReads(t *testing.T, at time.Time, archived int, most map[string]int) {
	t.Helper()
	for _, kind := range []string{"cold", "warm"} {
		before := w.Archives.Stats()
		begin := time.Now()
		n, cover := w.read(t, query.Query{
			Series: series(7), Window: varve.Window{From: at.AddDate(0, -1, 0), To: at}, Archive: query.WithArchives,
		})
		took := time.Since(begin)
		after := w.Archives.Stats()
		requests, bytes := after.Requests-before.Requests, after.Bytes-before.Bytes
		t.Logf("%s: %d readings of %d tables in %s, %d requests, %d bytes of %d", kind, n, len(cover.Archived), took.Round(time.Millisecond), requests, bytes, w.bytes)
		if n != 60*24*31-60 || len(cover.Archived) != archived || requests > int64(most[kind]) {
			t.Errorf("%s: %d readings, %d tables with %d requests, want %d, %d with at most %d", kind, n, len(cover.Archived), requests, 60*24*31-60, archived, most[kind])
		}
	}
}

// droppedMonth is an engine whose tables are dropped after they were archived.
type droppedMonth struct {
	*engine.Engine
	clock time.Time
	bytes int64 // size of the archives
}

func series(device int) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: fmt.Sprintf("sensor-%03d", device)}
}

func (w *droppedMonth) open(t *testing.T, objects objectstore.Store) {
	t.Helper()
	now := func() time.Time { return w.clock }
	st, err := local.Open(local.Options{Dir: t.TempDir(), MinFree: -1, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	policy := engine.DefaultRotation()
	policy.Drop, policy.ArchiveFirst = true, true
	w.Engine, err = engine.Open(t.Context(), engine.Options{
		Store: st, Rotation: policy, Now: now, NoRollups: true, Schedule: "@yearly", Archive: engine.Archive{Objects: objects, Prefix: "p", ExactCounts: true},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fill writes readings of all devices, from a time up to the time of the test's clock.
func (w *droppedMonth) fill(t *testing.T, from time.Time) {
	t.Helper()
	for d := range fleet {
		var list []varve.Reading
		for i := 0; from.Add(time.Duration(i) * time.Minute).Before(w.clock); i++ {
			list = append(list, varve.Reading{Series: series(d), Time: from.Add(time.Duration(i) * time.Minute), Fields: []varve.Field{
				{Name: "pressure", Value: varve.NumberValue(decimal.FromScaled(int64(10130+(i*7+d)%23), -1))},
				{Name: "temperature", Value: varve.NumberValue(decimal.FromScaled(int64(200+(i*3+d)%11), -1))},
			}})
		}
		request, err := w.Router.Admit()
		if err != nil {
			t.Fatal(err)
		}
		verdicts := make([]varve.Verdict, len(list))
		err = request.Write(t.Context(), list, verdicts)
		request.Done()
		if err != nil || verdicts[0].Outcome != varve.Stored {
			t.Fatal(err, verdicts[0])
		}
	}
}

// archiveAndDrop archives and drops the tables with readings, and returns their number.
func (w *droppedMonth) archiveAndDrop(t *testing.T) int {
	t.Helper()
	w.clock = w.clock.AddDate(1, 2, 0)
	var tables []grid.Table
	infos, err := w.Rotator.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range infos {
		if infos[i].Readings > 0 {
			tables = append(tables, infos[i].Table)
		}
	}
	if _, err := w.Rotator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.AddDate(0, 0, 10)
	records, err := w.ArchiveNow(t.Context(), tables)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		w.bytes += records[i].Bytes
	}
	if _, err := w.Rotator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return len(tables)
}

func (w *droppedMonth) read(t *testing.T, q query.Query) (n int, c query.Coverage) {
	t.Helper()
	rows, err := w.Query.Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for {
		part, err := rows.NextPart(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if part.IsEnd() {
			return n, rows.Coverage()
		}
		n += part.Len()
	}
}
