package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
)

// future is a reading that is rejected because its time is too far in the future.
var future = good(noon.Add(48 * time.Hour))

// TestWrites_ReturnStatusAndVerdicts checks the status and the verdicts for bodies of JSON, NDJSON
// and CSV. The status is 200 if no reading is rejected, 207 if some are, and 422 if all are.
func TestWrites_ReturnStatusAndVerdicts(t *testing.T) {
	csv := "time,device,a\n1475001526000,d1,1\n"
	rows := []struct {
		why, media, body string
		status           int
		want             string // numbers of stored, duplicate and rejected readings; each reject's index, line and code
	}{
		{"an object", "application/json", good(noon), 200, "1 0 0"},
		{"an object, no type", "", good(noon), 200, "1 0 0"},
		{"an array", "application/json", "[" + good(noon) + "," + good(noon) + "]", 200, "1 1 0"},
		{"an empty array", "application/json", "[]", 200, "0 0 0"},
		{"lines", "application/x-ndjson", good(noon) + "\n\n" + good(noon.Add(-1)) + "\n", 200, "2 0 0"},
		{"no lines", "application/x-ndjson", "", 200, "0 0 0"},
		{"rows", "text/csv", csv + "1475001527000,d1,1\n", 200, "2 0 0"},
		{"some bad", "application/json", "[" + good(noon) + "," + future + ",7]", 207, "1 0 2 1//time_in_future 2//malformed"},
		{"some bad lines", "application/x-ndjson", "\n" + future + "\nx\n" + good(noon), 207, "1 0 2 0/2/time_in_future 1/3/malformed"},
		{"some bad rows", "text/csv", csv + "1475001526,d1,1\n1475001526000,d1\n", 207, "1 0 2 1/3/time_unit 2/4/malformed"},
		{"a duplicate and a bad one", "application/x-ndjson", good(noon) + "\n" + good(noon) + "\n{}", 207, "1 1 1 2/3/time_missing"},
		{"all bad", "application/json", "[" + future + ",{}]", 422, "0 0 2 0//time_in_future 1//time_missing"},
		{"one bad object", "application/json", future, 422, "0 0 1 0//time_in_future"},
		{"NaN", "application/json", `{"device":"d1","time":1475001526000,"fields":{"a":NaN}}`, 422, "0 0 1 0//field_invalid"},
		{"an array that breaks off", "application/json", "[" + good(noon) + "," + good(noon)[:9], 207, "1 0 1 1//malformed"},
	}
	for _, row := range rows {
		s := newServer(t, nil)
		r := s.send("POST", writePath, row.body, "Content-Type", row.media)
		a := decode[wire.WriteAnswer](r)
		got := fmt.Sprintf("%d %d %d", a.Stored, a.Duplicates, a.Rejected)
		for _, j := range a.Rejects {
			line := ""
			if j.Line > 0 {
				line = fmt.Sprint(j.Line)
			}
			got += fmt.Sprintf(" %d/%s/%s", j.Index, line, j.Code)
			if j.Message == "" {
				t.Errorf("%s: no message", row.why)
			}
		}
		if r.status != row.status || got != row.want || a.Truncated || !strings.Contains(r.body, `"rejects":[`) {
			t.Errorf("%s: %d %s, want %d %s", row.why, r.status, got, row.status, row.want)
		}
	}
}

// TestUnreadableBody_Gets400WithCounts checks that an unreadable body gets 400 with the reason and
// the counts of its earlier readings.
func TestUnreadableBody_Gets400WithCounts(t *testing.T) {
	s := newServer(t, nil)
	for body, says := range map[string]string{"": "empty", "hello": "Content-Type", good(noon)[:20]: "not a JSON object", "[" + good(noon)[:20]: "not a JSON array", "time,a\n": "Content-Type"} {
		p := s.send("POST", writePath, body).problem(http.StatusBadRequest, "", says)
		if p.Tally == nil || p.Stored != 0 {
			t.Errorf("%q: %+v", body, p)
		}
	}
	for body, says := range map[string]string{"": "empty", "when,device\n": "when, device", "time": "the columns are time", "device,a\r\n": "the columns are device, a", "time,device,device\n": "twice"} {
		s.send("POST", writePath, body, "Content-Type", "text/csv").problem(http.StatusBadRequest, "", says)
	}
}

func TestWriteParams_TakeEffect(t *testing.T) {
	rows := []struct {
		why, path, media, body string
		device, at, field      string
	}{
		{"format", with(writePath, "format", "csv"), "application/json", "time,device,a\n1475001526000,d1,1", "d1", "2016-09-27T18:38:46Z", `"a":1`},
		{"format and plain text", with(writePath, "format", "ndjson"), "text/plain", `{"device":"d1","time":1475001526000,"fields":{"a":1}}`, "d1", "2016-09-27T18:38:46Z", `"a":1`},
		{"format without a type of readings", with(writePath, "format", "json"), "application/xml", `[{"device":"d1","time":1475001526000,"fields":{"a":1}}]`, "d1", "2016-09-27T18:38:46Z", `"a":1`},
		{"precision", with(writePath, "precision", "s"), "", `{"device":"d1","time":1475001526,"fields":{"a":1}}`, "d1", "2016-09-27T18:38:46Z", `"a":1`},
		{"timezone", with(writePath, "timezone", "Europe/Berlin"), "", `{"device":"d1","time":"2026-07-01 12:00:00","fields":{"a":1}}`, "d1", "2026-07-01T10:00:00Z", `"a":1`},
		{"device", with(writePath, "device", "x/y z"), "", `{"time":1475001526000,"fields":{"a":1}}`, "x/y z", "2016-09-27T18:38:46Z", `"a":1`},
		{"columns", with(writePath, "columns", "time,device,a"), "text/csv", "1475001526000,d1,1", "d1", "2016-09-27T18:38:46Z", `"a":1`},
		{"named columns", with(writePath, "time_column", "t", "device_column", "s", "id_column", "n"), "text/csv", "t,s,n,a\n1475001526000,d1,x,1", "d1", "2016-09-27T18:38:46Z", `"id":"x"`},
		{"types", with(writePath, "types", "a:string"), "text/csv", "time,device,a\n1475001526000,d1,007", "d1", "2016-09-27T18:38:46Z", `"a":"007"`},
		{"semicolons", with(writePath, "delimiter", ";"), "text/csv", "time;device;a\n1475001526000;d1;1", "d1", "2016-09-27T18:38:46Z", `"a":1`},
		{"tabs", with(writePath, "delimiter", "tab"), "text/csv", "time\tdevice\ta\n1475001526000\td1\t1", "d1", "2016-09-27T18:38:46Z", `"a":1`},
	}
	for _, row := range rows {
		s := newServer(t, nil)
		if r := s.send("POST", row.path, row.body, "Content-Type", row.media); r.status != http.StatusOK {
			t.Errorf("%s: %d %s", row.why, r.status, r.body)
			continue
		}
		r := s.get("/v1/streams/weather/devices/" + strings.NewReplacer("/", "%2F", " ", "%20").Replace(row.device) + "/readings")
		page := decode[wire.ReadingsBody](r)
		if len(page.Readings) != 1 || page.Readings[0].Time != row.at || !strings.Contains(r.body, row.field) {
			t.Errorf("%s: %s", row.why, r.body)
		}
	}
}

// TestWriteParams_NameInvalidOne checks that a problem names the invalid parameter, and that no
// reading of the body is stored.
func TestWriteParams_NameInvalidOne(t *testing.T) {
	s := newServer(t, nil)
	rows := []struct{ path, param, says string }{
		{with(writePath, "format", "xml"), "query.format", "use json, ndjson, csv or line"},
		{with(writePath, "format", ""), "query.format", "use json, ndjson, csv or line"},
		{with(writePath, "precision", "min"), "query.precision", "s, ms, us or ns"},
		{with(writePath, "timezone", "Local"), "query.timezone", "Europe/Berlin"},
		{with(writePath, "timezone", "Mars/Olympus"), "query.timezone", "Europe/Berlin"},
		{with(writePath, "device", ""), "query.device", "empty"},
		{with(writePath, "device", strings.Repeat("d", 257)), "query.device", "257"},
		{with(writePath, "types", "a:float"), "query.types", "serial:string"},
		{with(writePath, "types", "a"), "query.types", "serial:string"},
		{with(writePath, "delimiter", "::"), "query.delimiter", "one character"},
		{with(writePath, "prec", "s"), "query.prec", "use precision"},
		{"/v1/streams/-x/readings", "path.stream", "begin with a letter"},
		{"/v1/streams/" + strings.Repeat("s", 65) + "/readings", "path.stream", "65"},
		{"/v1/streams/a%2Fb/readings", "path.stream", "letters"},
	}
	for _, row := range rows {
		s.send("POST", row.path, good(noon)).problem(http.StatusBadRequest, row.param, row.says)
	}
	s.send("POST", with(writePath, "delimiter", `"`), "a", "Content-Type", "text/csv").problem(http.StatusBadRequest, "delimiter", "separate")
	s.get(latestPath).problem(http.StatusNotFound, "", "stream weather")
}

// TestRejects_AreListedUpToLimit checks that an answer lists a limited number of rejections,
// reports the limit, and counts all of them.
func TestRejects_AreListedUpToLimit(t *testing.T) {
	s := newServer(t, nil)
	const n = 10_050
	a := decode[wire.WriteAnswer](s.send("POST", writePath, strings.Repeat("x\n", n)+good(noon), "Content-Type", "application/x-ndjson"))
	if a.Rejected != n || a.Stored != 1 || len(a.Rejects) != 10_000 || !a.Truncated || a.Rejects[9999].Index != 9999 || a.Rejects[9999].Line != 10_000 {
		t.Errorf("%d rejected, %d listed, %t", a.Rejected, len(a.Rejects), a.Truncated)
	}
}

// TestUnavailableReadings_MayBeRetried checks the code of readings that may be stored later. The
// status is 503 with a time to wait if all readings have this code, and 207 if only some have it.
func TestUnavailableReadings_MayBeRetried(t *testing.T) {
	s := newServer(t, nil)
	bad := thisTable(s)
	s.store.set(&s.store.write, func(t grid.Table) error {
		if t == bad {
			return errDisk
		}
		return nil
	})
	r := s.send("POST", writePath, good(noon))
	a := decode[wire.WriteAnswer](r)
	if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") != "1" || a.Rejected != 1 || a.Rejects[0].Code != string(varve.CodeUnavailable) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := s.send("POST", writePath, "["+good(noon)+","+future+"]"); r.status != http.StatusUnprocessableEntity || r.header.Get("Retry-After") != "" {
		t.Errorf("one for now, one for good: %d %s", r.status, r.body)
	}
	if r := s.send("POST", writePath, "["+good(noon)+","+good(noon.AddDate(0, -3, 0))+"]"); r.status != http.StatusMultiStatus {
		t.Errorf("one for now, one stored: %d %s", r.status, r.body)
	}
	s.store.set(&s.store.write, nil)
	s.write(good(noon))
}

// TestWrites_LimitConcurrency checks that too many concurrent writes get 429 with a time to wait,
// until one of them ends.
func TestWrites_LimitConcurrency(t *testing.T) {
	s := newServer(t, func(o *engine.Options, _ *api.Limits) { o.MaxRequests = 1 })
	entered, gate, done := make(chan struct{}), make(chan struct{}), make(chan *reply)
	s.store.set(&s.store.write, func(grid.Table) error {
		close(entered)
		<-gate
		return nil
	})
	go func() { done <- s.send("POST", writePath, good(noon)) }()
	<-entered
	r := s.send("POST", writePath, good(noon.Add(-1)))
	r.problem(http.StatusTooManyRequests, "", "retry in a second")
	if r.header.Get("Retry-After") != "1" {
		t.Error(r.header)
	}
	close(gate)
	if r := <-done; r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
	s.store.set(&s.store.write, nil)
	s.write(good(noon.Add(-1)))
}
