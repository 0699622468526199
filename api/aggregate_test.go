package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

const (
	aggregatePath  = "/v1/streams/weather/devices/d1/aggregate"
	aggregatesPath = "/v1/streams/weather/aggregate"
)

func writeExample(s *server) {
	s.write(
		numbered("d1", noon.Add(-time.Minute), `"t":22.40,"on":true`),
		numbered("d1", noon.Add(-2*time.Minute), `"t":22.5`),
		numbered("d1", noon.Add(-13*time.Minute), `"t":20`),
		numbered("d2", noon.Add(-2*time.Minute), `"t":30`),
		numbered("d,3", noon.Add(-2*time.Minute), `"t":"broken"`),
	)
}

func TestAggregate_AnswersInAllFormats(t *testing.T) {
	s := newServer(t, nil)
	writeExample(s)
	day := []string{"step", "5m", "functions", "mean,max", "during", "2026-11-18"}
	r := s.get(with(aggregatePath, day...))
	want := `{"buckets":[
{"start":"2026-11-18T11:45:00Z","readings":1,"fields":{"t":{"mean":20,"max":20}}},
{"start":"2026-11-18T11:55:00Z","readings":2,"fields":{"on":{"mean":null,"max":null,"ignored":1},"t":{"mean":22.45,"max":22.5}}}
],"source":"readings","coverage":{"read":["` + thisTable(s).Name() + `"],`
	if !strings.HasPrefix(r.body, want) || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("got\n%s\nwant\n%s", r.body, want)
	}
	if b := decode[wire.AggregatesBody](r); len(b.Buckets) != 2 || b.Source != "readings" || b.Buckets[1].Fields["on"].Ignored() != 1 || b.Buckets[1].Fields["t"].Ignored() != 0 {
		t.Errorf("%+v", b)
	}
	filled := append(day, "fill", "linear", "fields", "t", "from", "2026-11-18T11:44:00Z", "to", "now")
	for format, want := range map[string]string{
		"csv": "start,readings,field,ignored,mean,max\r\n2026-11-18T11:40:00Z,0,t,0,,\r\n2026-11-18T11:45:00Z,1,t,0,20,20\r\n" +
			"2026-11-18T11:50:00Z,0,t,0,21.225,21.25\r\n2026-11-18T11:55:00Z,2,t,0,22.45,22.5\r\n",
		"ndjson": `{"start":"2026-11-18T11:40:00Z","readings":0,"fields":{"t":{"mean":null,"max":null}}}` + "\n" +
			`{"start":"2026-11-18T11:45:00Z","readings":1,"fields":{"t":{"mean":20,"max":20}}}` + "\n" +
			`{"start":"2026-11-18T11:50:00Z","readings":0,"fields":{"t":{"mean":21.225,"max":21.25}}}` + "\n" +
			`{"start":"2026-11-18T11:55:00Z","readings":2,"fields":{"t":{"mean":22.45,"max":22.5}}}` + "\n",
	} {
		r := s.get(strings.Replace(with(aggregatePath, append(filled, "format", format)...), "during=2026-11-18&", "", 1))
		if r.body != want || !strings.Contains(r.trailer.Get("Varve-Coverage"), thisTable(s).Name()) {
			t.Errorf("%s: got\n%s%v\nwant\n%s", format, r.body, r.trailer, want)
		}
	}
	if r := s.get(with(aggregatePath, "step", "1d"), "Accept", "text/csv"); !strings.HasPrefix(r.body, "start,readings,field,ignored,mean,min,max\r\n") {
		t.Errorf("by Accept: %s", r.body)
	}
	if r := s.get(with(aggregatePath, day...), "Accept", "application/vnd.varve.columns+json"); r.header.Get("Content-Type") != "application/json" {
		t.Errorf("columns by Accept: %s", r.body)
	}
	s.get(with(aggregatePath, append(day, "format", "columns")...)).problem(http.StatusBadRequest, "query.format", "json, ndjson or csv")
	if r := s.get(with(aggregatePath, "step", "1d", "during", "1999")); !strings.HasPrefix(r.body, `{"buckets":[],"source":"readings"`) {
		t.Errorf("no readings: %s", r.body)
	}
}

// TestAggregate_UsesTimezone checks buckets of local days in a local month.
func TestAggregate_UsesTimezone(t *testing.T) {
	s := newServer(t, nil)
	s.write(numbered("d1", time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC), `"t":1`), numbered("d1", time.Date(2026, 10, 25, 22, 59, 0, 0, time.UTC), `"t":2`),
		numbered("d1", time.Date(2026, 9, 30, 21, 59, 0, 0, time.UTC), `"t":3`), numbered("d1", time.Date(2026, 10, 31, 22, 59, 0, 0, time.UTC), `"t":4`))
	for _, source := range []string{"readings", "rollups"} {
		r := s.get(with(aggregatePath, "step", "1d", "functions", "sum", "during", "2026-10", "timezone", "Europe/Berlin", "source", source))
		want := `{"buckets":[
{"start":"2026-10-25T00:00:00+02:00","readings":2,"fields":{"t":{"sum":3}}},
{"start":"2026-10-31T00:00:00+01:00","readings":1,"fields":{"t":{"sum":4}}}
],"source":"` + source + `"`
		if !strings.HasPrefix(r.body, want) {
			t.Errorf("got\n%s\nwant\n%s", r.body, want)
		}
	}
}

// TestAggregate_ReadsLocalWindows checks the parameter "during" for a day without midnight, for an
// hour that occurs twice, and for a day that begins before 1970.
func TestAggregate_ReadsLocalWindows(t *testing.T) {
	s := newServer(t, nil)
	for _, c := range []struct {
		during, zone, reading, first, last string
		buckets                            int
	}{
		{"2017-10-15", "America/Sao_Paulo", "2017-10-15T03:00:00Z", "2017-10-15T01:00:00-02:00", "2017-10-15T23:00:00-02:00", 23},
		{"2026-10-25T02", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", 2},
		{"1970-01-01", "Asia/Kolkata", "1970-01-01T00:00:00Z", "1970-01-01T05:00:00+05:30", "1970-01-01T23:00:00+05:30", 19},
	} {
		at, err := time.Parse(time.RFC3339, c.reading)
		if err != nil {
			t.Fatal(err)
		}
		s.write(numbered("d1", at, `"t":1`))
		list := decode[wire.AggregatesBody](s.get(with(aggregatePath, "step", "1h", "fill", "null", "during", c.during, "timezone", c.zone))).Buckets
		if n := len(list); n != c.buckets || list[0].Start != c.first || list[n-1].Start != c.last || list[0].Readings != 1 {
			t.Errorf("%s in %s: %d buckets, want %d: %+v", c.during, c.zone, n, c.buckets, list)
		}
	}
}

// TestAggregates_SelectDevices checks the selection of devices by name, status and type, their merging,
// and their ranking.
func TestAggregates_SelectDevices(t *testing.T) {
	s := newServer(t, nil)
	writeExample(s)
	put := s.send(http.MethodPut, "/v1/devices/d2", `{"type":"sensor","status":"maintenance"}`, "Content-Type", "application/json")
	if put.status != http.StatusOK {
		t.Fatal(put.body)
	}
	for _, c := range []struct{ query, want string }{
		{"devices=d1,d2", "d1 d1 d2"}, {"", "d,3 d1 d1 d2"}, {"status=maintenance", "d2"}, {"device_type=sensor", "d2"}, {"device_type=pump", ""},
		{"status=active", "d,3 d1 d1"}, {"top=1&top_by=max&top_field=t", "d2"}, {"top=5&top_by=p50&fields=t", "d2 d1 d1"}, {"devices=none", ""},
	} {
		var got []string
		for _, b := range decode[wire.AggregatesBody](s.get(aggregatesPath + "?step=5m&" + c.query)).Buckets {
			got = append(got, b.Device)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
	}
	merged := s.get(aggregatesPath + "?step=5m&group=none&functions=count,max&fields=t&format=csv")
	if want := "start,readings,field,ignored,count,max\r\n2026-11-18T11:45:00Z,1,t,0,1,20\r\n2026-11-18T11:55:00Z,4,t,1,4,30\r\n"; merged.body != want {
		t.Errorf("got\n%s\nwant\n%s", merged.body, want)
	}
	each := s.get(aggregatesPath + "?step=1d&functions=max&fields=t&format=csv&from=2026-11-18")
	if want := "device,start,readings,field,ignored,max\r\n\"d,3\",2026-11-18T00:00:00Z,1,t,1,\r\nd1,2026-11-18T00:00:00Z,3,t,0,22.5\r\nd2,2026-11-18T00:00:00Z,1,t,0,30\r\n"; each.body != want {
		t.Errorf("got\n%s\nwant\n%s", each.body, want)
	}
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Aggregate(t.Context(), client.AggregateQuery{
		Stream: "weather", Devices: []string{"d1", "d2"}, Step: "1d", Functions: []string{"mean"}, Fields: []string{"t"}, Merge: true, Consistent: true,
		SkipDamaged: true, Fill: "null", During: "2026-11-18", Timezone: "UTC", Source: "readings",
	})
	if err != nil || len(a.Buckets) != 1 || string(a.Buckets[0].Fields["t"]["mean"]) != "23.725" {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = c.Aggregate(t.Context(), client.AggregateQuery{Stream: "weather", Status: "active", Step: "1d", Top: 1, TopBy: "max", TopField: "t"})
	if err != nil || len(a.Buckets) != 1 || a.Buckets[0].Device != "d1" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAggregate_NamesInvalidParameter(t *testing.T) {
	s := newServer(t, nil)
	writeExample(s)
	for _, c := range []struct{ path, query, param, says string }{
		{aggregatePath, "", "query.step", "use a duration as in 5m"},
		{aggregatePath, "step=5x", "query.step", "is not a step"},
		{aggregatePath, "step=7h&timezone=Europe/Berlin", "query.step", "use a divisor of 24h"},
		{aggregatePath, "step=5m&functions=avg", "query.functions", "use count, numbers, sum"},
		{aggregatePath, "step=5m&fill=zero", "query.fill", "use none, null, previous or linear"},
		{aggregatePath, "step=5m&source=both", "query.source", "use readings or rollups"},
		{aggregatePath, "step=5m&timezone=Nowhere", "query.timezone", "Nowhere"},
		{aggregatePath, "step=5m&during=2026-13", "query.during", "2026-13"},
		{aggregatePath, "step=5m&devices=d1", "query.devices", "unknown parameter"},
		{aggregatePath, "step=5m&damaged=x", "query.damaged", "fail nor skip"},
		{aggregatePath, "step=5m&format=xml", "query.format", "xml"},
		{aggregatePath, "step=5m&source=rollups", "query.step", "whole hours"},
		{aggregatePath, "step=1h&source=rollups&functions=p99", "query.functions", "use source=readings"},
		{aggregatePath, "step=1h&source=rollups&damaged=skip", "query.damaged", "use source=readings"},
		{aggregatePath, "step=1s&fill=null&from=2026-01-01", "query.step", "use a longer step"},
		{aggregatesPath, "step=5m&group=stream", "query.group", "use device or none"},
		{aggregatesPath, "step=5m&top=0&top_by=max", "query.top", "from 1 to 1000"},
		{aggregatesPath, "step=5m&top=1", "query.top_by", "use count"},
		{aggregatesPath, "step=5m&top=1&top_by=max", "query.top_field", "name the field"},
		{aggregatesPath, "step=5m&top=1&top_by=max&group=none&top_field=t", "query.top", "use group=device"},
		{aggregatesPath, "step=5m&top_by=max", "query.top_by", "requires top"},
		{aggregatesPath, "step=5m&devices=", "query.devices", "name devices"},
		{aggregatesPath, "step=5m&devices=d1&status=active", "query.devices", "omit them"},
		{aggregatesPath, "step=5m&status=broken", "query.status", "broken"},
		{"/v1/streams/a%20b/aggregate", "step=5m", "path.stream", "letters"},
	} {
		s.get(c.path+"?"+c.query).problem(http.StatusBadRequest, c.param, c.says)
	}
}

// TestAggregate_FailsWithStore checks that no part of an answer is sent if a table fails, and
// that damage is reported by its code.
func TestAggregate_FailsWithStore(t *testing.T) {
	s := newServer(t, nil)
	writeExample(s)
	s.store.set(&s.store.read, func(grid.Table) error { return errDisk })
	s.get(aggregatePath+"?step=5m").problem(http.StatusInternalServerError, "", "the disk is full")
	s.store.set(&s.store.read, func(grid.Table) error { return &store.DamageError{} })
	if p := s.get(aggregatePath+"?step=5m").problem(http.StatusInternalServerError, "", ""); p.Code != "damaged" {
		t.Errorf("%+v", p)
	}
}

// TestAggregate_ReleasesMemory checks that failed and successful aggregates release their memory,
// so that later aggregates can run.
func TestAggregate_ReleasesMemory(t *testing.T) {
	s := newServer(t, nil)
	writeExample(s)
	for range 20 {
		s.get(aggregatePath+"?step=1s&fill=null&from=2026-01-01").problem(http.StatusBadRequest, "query.step", "use a longer step")
		if r := s.get(aggregatePath + "?step=1s&fill=null&during=2026-11-18T11&fields=t&functions=max"); r.status != http.StatusOK || strings.Count(r.body, "start") != 3600 {
			t.Fatalf("%d %.200s", r.status, r.body)
		}
	}
}
