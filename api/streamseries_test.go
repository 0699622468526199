package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
)

const seriesPath = "/v1/streams/weather/series"

// seriesPages returns the devices of each page of the series of stream weather. Between two pages, it
// calls the function "between".
func seriesPages(t *testing.T, get func(path string) *reply, between func()) (pages []string) {
	t.Helper()
	for path := seriesPath; ; between() {
		r := get(path)
		page := decode[wire.SeriesList](r)
		var names []string
		for _, s := range page.Series {
			names = append(names, s.Device)
		}
		pages = append(pages, strings.Join(names, " "))
		if page.Next == "" {
			return pages
		}
		if strings.Contains(page.Next, "varve") {
			t.Errorf("%s has the name of a table", r.body)
		}
		path = with(seriesPath, "cursor", page.Next)
	}
}

func devicesOf(pages []string) string {
	list := strings.Fields(strings.Join(pages, " "))
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// TestStreamSeries_IncludesUnregisteredDevices lists series in three tables, after a device was
// deleted. One table has only another stream. The deleted device must be listed. Devices of other
// streams and tenants must not.
func TestStreamSeries_IncludesUnregisteredDevices(t *testing.T) {
	l := &locked{server: newServer(t, nil)}
	l.write(readingOf("gone", noon, `"a":1`), readingOf("here", noon, `"a":1`), readingOf("gone", noon.AddDate(0, 0, -200), `"a":1`))
	l.send("POST", "/v1/streams/other/readings", readingOf("o1", noon.AddDate(0, 0, -100), `"a":1`), "Content-Type", "application/x-ndjson")
	operator, reader := l.create(apikeys.Draft{Scopes: apikeys.Admin}), l.create(apikeys.Draft{Tenant: otherTenant, Scopes: apikeys.Read})
	writer := l.create(apikeys.Draft{Tenant: otherTenant, Scopes: apikeys.Write})
	get := func(path string) *reply { return l.as(operator, http.MethodGet, path, "") }
	l.as(reader, http.MethodGet, seriesPath, "").problem(http.StatusNotFound, "", "stream weather: not found")
	l.as(writer, http.MethodPost, writePath, readingOf("theirs", noon, `"a":1`), "Content-Type", "application/x-ndjson")
	if r := l.as(operator, http.MethodDelete, "/v1/devices/gone", ""); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	if pages := seriesPages(t, get, func() {}); len(pages) != 2 || devicesOf(pages) != "gone here" {
		t.Errorf("pages %q, want one per table with readings of the stream", pages)
	}
	if pages := seriesPages(t, func(path string) *reply { return l.as(reader, http.MethodGet, path, "") }, func() {}); devicesOf(pages) != "theirs" {
		t.Errorf("the other tenant has %q", pages)
	}
	for cursor, param := range map[string]string{"x": "query.cursor", "00": "query.cursor", "": "query.cursor"} {
		get(with(seriesPath, "cursor", cursor)).problem(http.StatusBadRequest, param, "malformed")
	}
	get(with(seriesPath, "limit", "1")).problem(http.StatusBadRequest, "query.limit", "")
	get("/v1/streams/none/series").problem(http.StatusNotFound, "", "stream none: not found")
}

// dropping is a source that calls the function "drop" with a table before it lists the table's series.
type dropping struct {
	tablescan.Source
	drop func(grid.Table)
}

func (d *dropping) Series(ctx context.Context, q store.SeriesQuery) (store.SeriesPage, error) {
	d.drop(q.Table)
	return d.Source.Series(ctx, q)
}

// TestStreamSeries_OmitsDroppedTables drops one table between two pages, and one while its page is made.
// The other pages must stay the same.
func TestStreamSeries_OmitsDroppedTables(t *testing.T) {
	var s *server
	var within grid.Table // the table that is dropped when its series are listed
	drop := func(table grid.Table) {
		if err := s.store.Retire(t.Context(), table, s.clock()); err != nil {
			t.Fatal(err)
		}
		if err := s.store.Drop(t.Context(), table); err != nil {
			t.Fatal(err)
		}
	}
	s = start(t, nil, nil, func(o *api.Options) {
		o.Tables = &dropping{o.Tables, func(table grid.Table) {
			if table == within {
				drop(table)
			}
		}}
	})
	tables := map[string]grid.Table{} // the table of each device
	for i, device := range []string{"d1", "d2", "d3"} {
		at := noon.AddDate(0, 0, -100*i)
		s.write(readingOf(device, at, `"a":1`))
		tables[device] = tableAt(t, at)
	}
	all := seriesPages(t, func(path string) *reply { return s.get(path) }, func() {})
	if len(all) != 3 {
		t.Fatalf("pages %q, want one for each of three tables", all)
	}
	within = tables[all[1]]
	got := seriesPages(t, func(path string) *reply { return s.get(path) }, func() {
		drop(tables[all[0]])
	})
	if want := []string{all[0], all[2]}; !slices.Equal(got, want) {
		t.Errorf("pages %q, want %q", got, want)
	}
}

// damagedSource finds a damaged row of another tenant in each table.
type damagedSource struct{ tablescan.Source }

const damagedKey = "rival/secret/patient 17#2026-11"

func (d damagedSource) Series(ctx context.Context, q store.SeriesQuery) (store.SeriesPage, error) {
	damaged := &store.DamagedRow{Table: q.Table.Name(), Series: damagedKey, TS: "1", Problem: "is not a series"}
	if q.Damaged == nil {
		return store.SeriesPage{}, damaged
	}
	q.Damaged(damaged)
	return d.Source.Series(ctx, q)
}

// TestStreamSeries_HidesDamagedRow checks that only the log has the key of a damaged row. Only a
// request that may see tables may get the name of the table.
func TestStreamSeries_HidesDamagedRow(t *testing.T) {
	l := &locked{server: start(t, nil, nil, func(o *api.Options) { o.Tables = damagedSource{o.Tables} })}
	l.write(good(noon))
	operator, reader := l.create(apikeys.Draft{Scopes: apikeys.Admin}), l.create(apikeys.Draft{Tenant: otherTenant, Scopes: apikeys.Read})
	writer := l.create(apikeys.Draft{Tenant: otherTenant, Scopes: apikeys.Write})
	l.as(writer, http.MethodPost, writePath, readingOf("mine", noon, `"a":1`), "Content-Type", "application/x-ndjson")
	for key, place := range map[string]string{operator: "table " + tableAt(t, noon).Name(), reader: "a table of the stream"} {
		r := l.as(key, http.MethodGet, seriesPath, "")
		want := place + ": data is damaged: the operator can see the damage with varve verify; or list the other devices with damaged=skip"
		if p := decode[wire.Problem](r); r.status != http.StatusInternalServerError || p.Code != wire.CodeDamaged || p.Detail != want {
			t.Errorf("%d %s, want %q", r.status, r.body, want)
		}
		l.mu.Lock()
		if logged := l.failed[len(l.failed)-1].Error(); !strings.Contains(logged, damagedKey) {
			t.Errorf("the log lacks the row: %s", logged)
		}
		l.mu.Unlock()
		skipped := decode[wire.SeriesList](l.as(key, http.MethodGet, with(seriesPath, "damaged", "skip"), ""))
		damage := wire.SeriesDamage{Table: strings.TrimPrefix(strings.TrimPrefix(place, "table "), "a table of the stream"), Places: 1}
		if len(skipped.Series) != 1 || len(skipped.Damaged) != 1 || skipped.Damaged[0] != damage {
			t.Errorf("with damaged=skip: %+v, want one device, and the damage %+v", skipped, damage)
		}
	}
}

func TestStreamSeries_OmitsExpiredTables(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon))
	s.advance(2 * 365 * 24 * time.Hour)
	if got := seriesPages(t, func(path string) *reply { return s.get(path) }, func() {}); devicesOf(got) != "" {
		t.Errorf("pages %q, want no device", got)
	}
}
