package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

const whyPath = "/v1/devices/d1/why?time=2026-11-18T12:00:00Z"

// TestWhy_HidesTablesFromTenants asks for a reading of a tenant other than default. The answer must
// have the reading and the retention that applies to it, and must not name tables. After the expiry,
// the coverage of a query must count the tenant's expired readings, and must not name tables.
func TestWhy_HidesTablesFromTenants(t *testing.T) {
	l := newLocked(t)
	theirs := l.keys["other rw"]
	body := `{"device":"d1","time":"2026-11-18T12:00:00Z","id":"m1","fields":{"v":1}}`
	if r := l.as(theirs, "POST", writePath, body, "Content-Type", "application/json"); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	r := l.as(theirs, "GET", whyPath, "")
	why := decode[wire.WhyBody](r)
	if len(why.Streams) != 1 || why.Streams[0].State != wire.WhyStored || !why.Known || len(why.Streams[0].Readings) != 1 ||
		why.Streams[0].Rule != "class default keeps readings for 1y" || strings.Contains(r.body, "varve_") {
		t.Errorf("a tenant's reading: %s, want it stored, without tables", r.body)
	}
	if r := l.as(l.keys["read"], "GET", whyPath+"&stream=weather", ""); strings.Contains(r.body, "m1") {
		t.Errorf("another tenant sees the reading: %s", r.body)
	}
	l.advance(366 * 24 * time.Hour)
	r = l.as(theirs, "GET", readPath, "")
	cover := decode[wire.ReadingsBody](r).Coverage
	if cover.Expiry == nil || cover.Expiry.Readings != 1 || strings.Contains(r.body, "varve_") {
		t.Errorf("a tenant's coverage: %s, want one expired reading and no tables", r.body)
	}
	why = decode[wire.WhyBody](l.as(theirs, "GET", whyPath, ""))
	if len(why.Streams) != 1 || !strings.HasSuffix(why.Streams[0].Text, "It stays on disk, because retention.drop is false.") {
		t.Errorf("the expired reading: %+v, want it kept because drops are off", why.Streams)
	}
}

// TestMissingTables_AreCountedForTenants reads the readings of a tenant other than default whose table vanishes.
// The coverage must count the table, because readings are missing, and must not name it.
func TestMissingTables_AreCountedForTenants(t *testing.T) {
	l := newLocked(t)
	theirs := l.keys["other rw"]
	l.as(theirs, "POST", writePath, `{"device":"d1","time":"2026-11-18T12:00:00Z","fields":{"v":1}}`, "Content-Type", "application/json")
	l.store.set(&l.store.read, func(grid.Table) error { return store.ErrNoTable })
	r := l.as(theirs, "GET", readPath, "")
	cover := decode[wire.ReadingsBody](r).Coverage
	if cover.MoreMissing != 1 || len(cover.Missing) > 0 || strings.Contains(r.body, "varve_") {
		t.Errorf("%s, want one missing table without a name", r.body)
	}
}

// TestWhy_NamesTableThatWouldContain asks for readings that are not stored. The answer must name the
// tables that would contain them. If a reading would still be alive, the answer must not claim that it
// has expired.
func TestWhy_NamesTableThatWouldContain(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon))
	ask := func(query string) wire.WhyStream {
		t.Helper()
		why := decode[wire.WhyBody](s.get("/v1/devices/d1/why?stream=weather&" + query))
		if len(why.Streams) != 1 {
			t.Fatalf("%s: %+v, want one stream", query, why)
		}
		return why.Streams[0]
	}
	if got := ask("time=2026-11-18T11:59:00Z"); got.State != wire.WhyNever || len(got.Tables) != 1 || got.Tables[0].Name != thisTable(s).Name() || !got.Tables[0].Exists {
		t.Errorf("a minute before: %+v, want never, and this month's table", got)
	}
	if got := ask("time=2026-11-18T12:00:00Z&id=other"); got.State != wire.WhyNever || len(got.Readings) != 0 {
		t.Errorf("another id: %+v, want never", got)
	}
	got := ask("time=2024-05-01T00:00:00Z")
	if got.State != wire.WhyRemoved || len(got.Tables) != 2 || !strings.Contains(got.Text, "2025-05-01") {
		t.Errorf("two years before: %+v, want removed, with a table of then and one of today", got)
	}
	if got := ask("time=2026-12-18T12:00:00Z"); got.State != wire.WhyRejected {
		t.Errorf("a month ahead: %+v, want rejected", got)
	}
	s.get("/v1/devices/d1/why?time=soon").problem(http.StatusBadRequest, "query.time", "cannot be read")
	s.get("/v1/devices/d1/why?time=now&stream=none").problem(http.StatusNotFound, "", "stream")
}
