package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestQuery_WithArchivesReturnsEveryReadingOnce writes readings, many of them late, while tables
// expire, are archived, dropped and restored. At any time, a query with archives must return every
// reading that was ever stored, once, in the copy that arrived first.
func TestQuery_WithArchivesReturnsEveryReadingOnce(t *testing.T) {
	randomtest.LimitChecks(t, 10)
	dropped := 0
	rapid.Check(t, func(t *rapid.T) {
		p := openArchivePast(t, func(_ string, now func() time.Time) (store.Store, error) { return mem.New(now), nil })
		defer p.close()
		p.live(t)
		dropped += p.dropped
	})
	if dropped == 0 && !testing.Short() { // a single sequence may drop no table
		t.Error("no table was ever dropped")
	}
}

// TestQuery_WithArchivesReturnsEveryReadingOnceEmbedded runs
// TestQuery_WithArchivesReturnsEveryReadingOnce on the embedded store.
func TestQuery_WithArchivesReturnsEveryReadingOnceEmbedded(t *testing.T) {
	randomtest.LimitChecks(t, 3)
	dropped := 0
	rapid.Check(t, func(t *rapid.T) {
		p := openArchivePast(t, func(dir string, now func() time.Time) (store.Store, error) {
			return local.Open(local.Options{Dir: dir, MinFree: -1, Now: now})
		})
		defer p.close()
		p.live(t)
		dropped += p.dropped
	})
	if dropped == 0 && !testing.Short() { // a single sequence may drop no table
		t.Error("no table was ever dropped")
	}
}

// TestQuery_WithArchivesReturnsEveryReadingOnceOnDynamoDB runs
// TestQuery_WithArchivesReturnsEveryReadingOnce on DynamoDB.
func TestQuery_WithArchivesReturnsEveryReadingOnceOnDynamoDB(t *testing.T) {
	randomtest.LimitChecks(t, 1)
	url := dynamotest.Dynoxide.Start(t)
	rapid.Check(t, func(t *rapid.T) {
		p := openArchivePast(t, func(dir string, now func() time.Time) (store.Store, error) {
			return dynamo.Open(context.Background(), dynamo.Options{Client: dynamotest.Client(url), Registry: "registry" + prefixOf(dir), Now: now})
		})
		defer p.close()
		p.live(t)
	})
}

// archivePast is an engine that keeps readings for 30 days, with a record of all stored copies.
type archivePast struct {
	*engine.Engine
	root    string
	prefix  string
	clock   time.Time
	shared  atomic.Pointer[time.Time] // copy of the field "clock", which the goroutines of the engine read
	copies  []tableCopy
	dropped int
	oldest  int // maximum age of the readings that the method "write" stores, in units of 3 days
}

type tableCopy struct {
	table   grid.Table
	reading varve.Reading
}

// setClock sets the clock, for the test and for the engine.
func (p *archivePast) setClock(at time.Time) {
	p.clock = at
	p.shared.Store(&at)
}

func openArchivePast(t *rapid.T, open func(dir string, now func() time.Time) (store.Store, error)) *archivePast {
	p := &archivePast{oldest: 30}
	p.setClock(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	now := func() time.Time { return *p.shared.Load() }
	var err error
	p.root, err = os.MkdirTemp("", "varve-past")
	p.must(t, err)
	p.prefix = prefixOf(p.root + "/data")
	objects, err := folder.Open(p.root+"/archive", folder.Shared)
	p.must(t, err)
	st, err := open(p.root+"/data", now)
	p.must(t, err)
	_, isRemote := st.(*dynamo.Store)
	exact := !isRemote && rapid.Bool().Draw(t, "exact")
	policy := engine.DefaultRotation()
	policy.Drop, policy.ArchiveFirst = true, true
	policy.Retention = &retention.Policy{Prefix: p.prefix, Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 30 * day}}}
	p.Engine, err = engine.Open(context.Background(), engine.Options{
		Store: st, Rotation: policy, Now: now, NoRollups: true, Schedule: "@yearly",
		Archive: engine.Archive{Objects: objects, Prefix: "p", ExactCounts: exact, Merge: true},
	})
	p.must(t, err)
	p.WaitForFirst()
	return p
}

// prefixOf returns a prefix of tables that differs for each folder of an engine.
func prefixOf(dir string) string {
	return "t" + strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), "varve-past")
}

func (p *archivePast) close() {
	_ = p.Close()
	_ = os.RemoveAll(p.root)
}

func (p *archivePast) must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%+v", err)
	}
}

// live performs random actions: it writes readings, lets time pass, and restores tables.
func (p *archivePast) live(t *rapid.T) {
	for range rapid.IntRange(3, 8).Draw(t, "steps") {
		p.write(t)
		p.pass(t, time.Duration(rapid.IntRange(1, 40).Draw(t, "days"))*day)
		if rapid.IntRange(0, 4).Draw(t, "restore") == 0 {
			p.restore(t)
		}
		p.compare(t)
	}
	p.pass(t, 200*day) // now all tables without a hold are dropped
	p.compare(t)
}

// write stores readings whose event times are at most p.oldest × 3 days old.
func (p *archivePast) write(t *rapid.T) {
	request, err := p.Router.Admit()
	p.must(t, err)
	defer request.Done()
	list := make([]varve.Reading, rapid.IntRange(1, 12).Draw(t, "readings"))
	for i := range list {
		age := time.Duration(rapid.IntRange(0, p.oldest).Draw(t, "age")) * 3 * day
		list[i] = varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "device")},
			Time:   p.clock.Truncate(3 * day).Add(-age), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(rapid.Int64Range(0, 2).Draw(t, "v"))}},
		}
		if rapid.IntRange(0, 3).Draw(t, "own") == 0 {
			list[i].ID, err = varve.ParseID("own")
			p.must(t, err)
			list[i].ID = list[i].ID.WithVersion(rapid.SampledFrom([]uint32{0, 0, 1, 2, 11}).Draw(t, "version"))
		}
	}
	verdicts := make([]varve.Verdict, len(list))
	p.must(t, request.Write(context.Background(), list, verdicts))
	for i, v := range verdicts {
		if v.Outcome != varve.Stored {
			continue
		}
		r := list[i].Clone()
		if r.ID.IsZero() {
			r.ID = r.ContentID()
		}
		rg, _ := grid.DefaultPolicy().Locate(r.Time, grid.MonthOf(r.Arrived))
		p.copies = append(p.copies, tableCopy{grid.Table{Prefix: p.prefix, Range: rg, Month: grid.MonthOf(r.Arrived)}, r})
	}
}

// pass advances the clock in four steps, and runs the rotator and the archive after each of them.
func (p *archivePast) pass(t *rapid.T, d time.Duration) {
	const runs = 4
	for range runs {
		p.setClock(p.clock.Add(d / runs))
		plan, err := p.Rotator.Run(context.Background())
		p.must(t, err)
		for _, a := range plan.Actions {
			if slices.ContainsFunc(p.copies, func(c tableCopy) bool { return c.table == a.Table && a.Kind.String() == "drop" }) {
				p.dropped++
			}
		}
		p.ArchiveTables()
	}
}

// restore restores a random archived table, unless the table exists.
func (p *archivePast) restore(t *rapid.T) {
	records, err := p.Archiver.Catalog().List(context.Background())
	p.must(t, err)
	if len(records) == 0 {
		return
	}
	r := &records[rapid.IntRange(0, len(records)-1).Draw(t, "archive")]
	if err := p.Archiver.Restore(context.Background(), r, p.Store); varve.FailureOf(err) != varve.Conflict {
		p.must(t, err)
	}
}

// want returns the first copies of the readings of a device in the selected tables.
func (p *archivePast) want(device string, q *query.Query, selected func(grid.Table) bool) (all []varve.Reading) {
	for i := range p.copies {
		c := &p.copies[i].reading
		if !q.AsOf.IsZero() && c.Arrived.After(q.AsOf) || c.Series.Device != device || !q.Window.Contains(c.Time) || !selected(p.copies[i].table) {
			continue
		}
		at := slices.IndexFunc(all, func(r varve.Reading) bool { return r.Position() == c.Position() })
		switch {
		case at < 0:
			all = append(all, *c)
		case c.Arrived.Before(all[at].Arrived):
			all[at] = *c
		}
	}
	slices.SortFunc(all, func(a, b varve.Reading) int {
		if q.Order == varve.Descending {
			a, b = b, a
		}
		return a.Position().Compare(b.Position())
	})
	if q.Versions {
		return all
	}
	whole := slices.Clone(all)
	return slices.DeleteFunc(all, func(r varve.Reading) bool {
		return slices.ContainsFunc(whole, func(o varve.Reading) bool {
			return o.Time.Equal(r.Time) && o.ID.String() == r.ID.String() && o.ID.Version() > r.ID.Version()
		})
	})
}

func (p *archivePast) compare(t *rapid.T) {
	records, err := p.Archiver.Catalog().List(context.Background())
	p.must(t, err)
	archived := map[grid.Table]bool{}
	for i := range records {
		archived[records[i].Table] = records[i].State == archive.Archived
	}
	for _, device := range []string{"a", "b"} {
		q := query.Query{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}, Window: varve.AllTime(),
			Archive: query.WithArchives, Order: varve.Order(rapid.IntRange(0, 1).Draw(t, "order")), Limit: rapid.IntRange(0, 3).Draw(t, "limit"),
		}
		q.Versions = rapid.IntRange(0, 2).Draw(t, "versions") == 0
		if rapid.Bool().Draw(t, "window") {
			q.Window.From = p.clock.Add(-time.Duration(rapid.IntRange(0, 200).Draw(t, "from")) * day)
			q.Window.To = q.Window.From.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "length")) * day)
		}
		if rapid.IntRange(0, 2).Draw(t, "as of") == 0 {
			q.AsOf = p.clock.Add(-time.Duration(rapid.IntRange(0, 150).Draw(t, "ago")) * day)
		}
		p.same(t, q, p.want(device, &q, func(grid.Table) bool { return true }))
		q.Archive = query.OnlyArchives
		p.same(t, q, p.want(device, &q, func(table grid.Table) bool { return archived[table] }))
	}
}

// same compares the pages of an answer with the wanted readings.
func (p *archivePast) same(t *rapid.T, q query.Query, want []varve.Reading) {
	var got []string
	for more := true; more; {
		rows, err := p.Query.Open(context.Background(), q)
		p.must(t, err)
		for {
			part, err := rows.NextPart(context.Background())
			p.must(t, err)
			if part.IsEnd() {
				break
			}
			for i := range part.Columns {
				for k := range part.Columns[i].Len() {
					var r varve.Reading
					part.Columns[i].Fill(part.Columns[i].Row(k), &r)
					got = append(got, copyText(&r))
				}
			}
			for i := range part.Readings {
				got = append(got, copyText(&part.Readings[i]))
			}
		}
		var at varve.Position
		at, more = rows.More()
		q.After = &at
		rows.Close()
	}
	var wanted []string
	for i := range want {
		wanted = append(wanted, copyText(&want[i]))
	}
	if !slices.Equal(got, wanted) {
		t.Fatalf("%+v has\n%s\nwant\n%s", q, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}

func copyText(r *varve.Reading) string {
	return fmt.Sprint(r.Series.Device, " ", r.Time.UTC(), " ", r.ID.Key(), " ", r.Arrived.UTC(), " ", r.Fields)
}

// TestQuery_FailsIfArchiveCannotBeRead checks that a query fails and names the table and the file, if
// the file is missing or has changed. Without archives, the same query succeeds.
func TestQuery_FailsIfArchiveCannotBeRead(t *testing.T) {
	w := openArchiveWorld(t)
	table := tableOfOne(t, w.Engine, w.clock)
	w.run(400 * day)
	w.ArchiveTables()
	w.run(10 * day)
	if exists(t, w.Engine, table) {
		t.Fatal("the table was not dropped")
	}
	q := query.Query{Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d"}, Window: varve.AllTime(), Archive: query.WithArchives}
	if n, cover, err := countRows(t, w.Engine, q); n != 1 || err != nil || !slices.Equal(cover.Archived, []string{table.Name()}) {
		t.Fatalf("%d readings, coverage %+v, %v", n, cover, err)
	}
	files, err := filepath.Glob(w.root + "/archive/p/*/*/*/*/part-*.parquet")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(body)
	flipped[10] ^= 1
	for name, content := range map[string][]byte{"flipped": flipped, "cut": body[:len(body)/4], "missing": nil} {
		err := os.WriteFile(files[0], content, 0o600)
		if content == nil {
			err = os.Remove(files[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		_, cover, err := countRows(t, w.Engine, q)
		if varve.FailureOf(err) != varve.Damaged || !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), table.Name()) ||
			!strings.Contains(err.Error(), filepath.Base(files[0])) || !slices.Equal(cover.Failed, []string{table.Name()}) {
			t.Errorf("%s: coverage %+v, %v", name, cover, err)
		}
	}
	q.Archive = query.NoArchives
	if n, _, err := countRows(t, w.Engine, q); n != 0 || err != nil {
		t.Errorf("without archives: %d readings, %v", n, err)
	}
}

func countRows(t *testing.T, e *engine.Engine, q query.Query) (n int, c query.Coverage, err error) {
	t.Helper()
	rows, err := e.Query.Open(t.Context(), q)
	if err != nil {
		return 0, c, err
	}
	defer rows.Close()
	for {
		readings, err := rows.Next(t.Context())
		if err != nil || len(readings) == 0 {
			return n, rows.Coverage(), err
		}
		n += len(readings)
	}
}
