package api_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/grid"
)

// valued returns a reading of d1, the given number of hours before noon. Its field v has the value v.
func valued(hours, v int) string {
	return fmt.Sprintf(`{"device":"d1","time":"%s","fields":{"v":%d,"note":"n%d"}}`, noon.Add(-time.Duration(hours)*time.Hour).Format(time.RFC3339), v, v)
}

// hours returns a server with the readings 0 … n-1 of d1, each an hour older than the one before.
func hours(t *testing.T, n int) *server {
	t.Helper()
	s := newServer(t, nil)
	var list []string
	for i := range n {
		list = append(list, valued(i, i))
	}
	s.write(list...)
	return s
}

// values lists the values of field v in an answer in JSON.
func values(r *reply) string {
	r.t.Helper()
	if r.status != http.StatusOK {
		r.t.Fatalf("%d %s", r.status, r.body)
	}
	var list []string
	for _, x := range decode[wire.ReadingsBody](r).Readings {
		list = append(list, fmt.Sprint(x.Fields["v"]))
	}
	return strings.Join(list, " ")
}

func TestReads_ReturnReadingsInOrder(t *testing.T) {
	s := hours(t, 6)
	rows := []struct{ why, path, want string }{
		{"all", readPath, "5 4 3 2 1 0"},
		{"newest first", with(readPath, "order", "desc"), "0 1 2 3 4 5"},
		{"a window is half open", with(readPath, "from", "2026-11-18T08:00:00Z", "to", "2026-11-18T11:00:00Z"), "4 3 2"},
		{"relative", with(readPath, "from", "-2h"), "2 1 0"},
		{"relative, now", with(readPath, "from", "-2h", "to", "now"), "2 1"},
		{"relative, ahead", with(readPath, "from", "-1h", "to", "+1h"), "1 0"},
		{"an unescaped plus", readPath + "?from=-1h&to=+1h", "1 0"},
		{"an unescaped plus in a zone", readPath + "?from=2026-11-18T12:00:00+01:00", "1 0"},
		{"milliseconds", with(readPath, "from", fmt.Sprint(noon.Add(-time.Hour).UnixMilli())), "1 0"},
		{"seconds", with(readPath, "from", fmt.Sprint(noon.Add(-time.Hour).Unix()), "precision", "s"), "1 0"},
		{"a date", with(readPath, "to", "2026-11-18 09:00", "timezone", "Europe/Berlin"), "5"},
		{"an empty window", with(readPath, "from", "now", "to", "now"), ""},
		{"a limit", with(readPath, "limit", "2", "order", "desc"), "0 1"},
		{"consistent", with(readPath, "consistent", "true", "limit", "1"), "5"},
	}
	for _, row := range rows {
		if got := values(s.get(row.path)); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}

// TestAnswer_HasAllProperties checks every property of an answer with readings, and of an empty
// answer.
func TestAnswer_HasAllProperties(t *testing.T) {
	s := hours(t, 1)
	r := s.get(readPath)
	want := fmt.Sprintf(`{"readings":[
{"time":"2026-11-18T12:00:00Z","id":"%s","arrived":"2026-11-18T12:00:00Z","fields":{"note":"n0","v":0}}
],"coverage":{"read":["%s"],"expired":[],"missing":[],"failed":[],"listed":"2026-11-18T12:00:00Z"}}
`, decode[wire.ReadingsBody](r).Readings[0].ID, thisTable(s).Name())
	if r.body != want {
		t.Errorf("%s, want %s", r.body, want)
	}
	none := `{"readings":[],"coverage":{"read":["` + thisTable(s).Name() + `"],"expired":[],"expiry":{"from":"1970-01-01T00:00:00Z","to":"2025-11-18T12:00:00Z","retention":"1y",` +
		`"rule":"class default keeps readings for 1y","tables":0},"missing":[],"failed":[],"listed":"2026-11-18T12:00:00Z"}}` + "\n"
	if r := s.get(with(readPath, "to", "-1m")); r.body != none || r.header.Get("Content-Length") != fmt.Sprint(len(none)) {
		t.Errorf("%s", r.body)
	}
	if r := s.get(with(readPath, "fields", "v")); strings.Contains(r.body, "note") || !strings.Contains(r.body, `"v":0`) {
		t.Errorf("%s", r.body)
	}
}

// TestAnswer_IsSentAtOnceUpToLimit checks that an answer of a few pages has a Content-Length. A larger answer
// must have none, because it is sent page by page.
func TestAnswer_IsSentAtOnceUpToLimit(t *testing.T) {
	s := newServer(t, nil)
	var list []string
	for i := range 4000 {
		list = append(list, readingOf("d1", noon.Add(-time.Duration(i)*time.Second), fmt.Sprintf(`"v":%d`, i)))
	}
	s.write(list...)
	for _, limit := range []int{1000, len(list)} {
		r := s.get(with(readPath, "limit", fmt.Sprint(limit)))
		want := fmt.Sprint(len(r.body))
		if len(r.body) > 256<<10 {
			want = ""
		}
		length := r.header.Get("Content-Length")
		if n := len(decode[wire.ReadingsBody](r).Readings); n != limit || length != want || len(r.body) < 64<<10 {
			t.Errorf("limit %d: %d readings, length %q, want %q, %d bytes", limit, n, length, want, len(r.body))
		}
	}
}

// TestFormats_HaveSameReadings checks that JSON, NDJSON and CSV have the same readings. The
// parameter "format" overrides the header Accept.
func TestFormats_HaveSameReadings(t *testing.T) {
	// From the oldest to the newest, the readings have v = 1, only w, and v = 0.
	s := hours(t, 2)
	s.write(`{"device":"d1","time":"2026-11-18T11:30:00Z","id":"x","fields":{"w":"a,\"b\""}}`)
	csv := "time,id,arrived,note,v,w\r\n"
	rows := []struct{ accept, format, media, begins string }{
		{"", "", "application/json", `{"readings":[`}, {"*/*", "", "application/json", `{`}, {"text/html, */*;q=0.1", "", "application/json", `{`},
		{"application/x-ndjson", "", "application/x-ndjson", `{"time":"2026-11-18T11:00:00Z"`}, {"application/jsonl;q=0.9", "", "application/x-ndjson", `{"time"`},
		{"text/csv", "", "text/csv; charset=utf-8", csv}, {"text/csv", "json", "application/json", `{"readings"`}, {"", "ndjson", "application/x-ndjson", `{"time"`},
		{"application/json", "csv", "text/csv; charset=utf-8", csv},
		{"text/csv;q=0.5, application/json", "", "application/json", `{"readings":[`}, {"application/json;q=0.5, text/csv;q=0.9", "", "text/csv; charset=utf-8", csv},
		{"application/json;q=0, text/csv", "", "text/csv; charset=utf-8", csv}, {"text/csv;q=0", "", "application/json", `{"readings":[`},
		{"Text/CSV", "", "text/csv; charset=utf-8", csv}, {"text/csv, application/json", "", "text/csv; charset=utf-8", csv}, {",;q, text/csv;q=x", "", "application/json", `{"readings":[`},
	}
	for _, row := range rows {
		path := readPath
		if row.format != "" {
			path = with(path, "format", row.format)
		}
		r := s.get(path, "Accept", row.accept)
		if r.header.Get("Content-Type") != row.media || !strings.HasPrefix(r.body, row.begins) || strings.Count(r.body, "2026-11-18T11:30:00Z") != 1 {
			t.Errorf("Accept %q, format %q: %s %s", row.accept, row.format, r.header.Get("Content-Type"), r.body)
		}
		if row.media != "application/json" && !strings.Contains(r.trailer.Get("Varve-Coverage"), thisTable(s).Name()) {
			t.Errorf("Accept %q, format %q: trailers %v", row.accept, row.format, r.trailer)
		}
	}
	r := s.get(with(readPath, "format", "csv"))
	rest := strings.Split(strings.TrimPrefix(r.body, csv), "\r\n")
	if len(rest) != 4 || !strings.HasSuffix(rest[0], ",n1,1,") || rest[1] != `2026-11-18T11:30:00Z,x,2026-11-18T12:00:00Z,,,"a,""b"""` || rest[3] != "" {
		t.Errorf("%q", rest)
	}
	if r := s.get(with(readPath, "format", "csv", "fields", "v,a")); !strings.HasPrefix(r.body, "time,id,arrived,a,v\r\n") || !strings.Contains(r.body, ",,1\r\n") {
		t.Errorf("%s", r.body)
	}
}

// notes matches the field "note" of every reading, in any format.
var notes = regexp.MustCompile(`[",]n([0-9]+)[",]`)

// TestPages_EqualWholeAnswer checks that all pages together are the whole answer, each reading
// once, in JSON, NDJSON and CSV and in both orders. The window of the first page must apply to all pages,
// although the clock advances between them.
func TestPages_EqualWholeAnswer(t *testing.T) {
	s := hours(t, 25)
	for _, order := range []string{"asc", "desc"} {
		whole := values(s.get(with(readPath, "order", order, "from", "-20h", "to", "now")))
		for _, format := range []string{"json", "ndjson", "csv"} {
			var got []string
			next, pages := "", 0
			for pages == 0 || next != "" {
				params := []string{"order", order, "from", "-20h", "to", "now", "limit", "7", "format", format}
				if next != "" {
					params = append(params, "cursor", next)
				}
				r := s.get(with(readPath, params...))
				if r.status != http.StatusOK {
					t.Fatal(r.body)
				}
				next = r.trailer.Get("Varve-Next")
				if format == "json" {
					next = decode[wire.ReadingsBody](r).Next
				}
				for _, note := range notes.FindAllStringSubmatch(r.body, -1) {
					got = append(got, note[1])
				}
				pages++
				s.advance(time.Minute)
			}
			if pages != 3 {
				t.Errorf("%s, %s: %d pages", order, format, pages)
			}
			if strings.Join(got, " ") != whole {
				t.Errorf("%s, %s: %s, want %s", order, format, got, whole)
			}
			s.advance(-time.Duration(pages) * time.Minute)
		}
	}
}

// TestCursor_IsRefusedByOtherQueries checks that only the query of a cursor accepts it, and that no
// query accepts an invalid cursor.
func TestCursor_IsRefusedByOtherQueries(t *testing.T) {
	s := hours(t, 5)
	next := decode[wire.ReadingsBody](s.get(with(readPath, "limit", "2", "from", "-4h"))).Next
	if next == "" {
		t.Fatal("no cursor")
	}
	if got := values(s.get(with(readPath, "from", "-4h", "cursor", next))); got != "2 1 0" {
		t.Errorf("another limit: %s", got)
	}
	others := []string{
		with(readPath, "cursor", next), with(readPath, "from", "-5h", "cursor", next), with(readPath, "from", "-4h", "to", "now", "cursor", next),
		with(readPath, "from", "-4h", "order", "desc", "cursor", next), with("/v1/streams/weather/devices/d2/readings", "from", "-4h", "cursor", next),
		with("/v1/streams/other/devices/d1/readings", "from", "-4h", "cursor", next),
	}
	for _, path := range others {
		s.get(path).problem(http.StatusBadRequest, "query.cursor", "another query")
	}
	for _, text := range []string{"x", next + "A", next[:len(next)-3], next[1:], "AAAA", "!", strings.ToLower(next), strings.Repeat("A", 5000)} {
		s.get(with(readPath, "from", "-4h", "cursor", text)).problem(http.StatusBadRequest, "query.cursor", "cursor")
	}
}

func TestReadParams_NameInvalidOne(t *testing.T) {
	s := newServer(t, nil)
	rows := []struct{ path, param, says string }{
		{with(readPath, "from", "soon"), "query.from", "a distance as in -24h or -1mo"}, {with(readPath, "to", "1475001526"), "query.to", "looks like seconds"},
		{with(readPath, "from", "-7x"), "query.from", ""}, {with(readPath, "from", "-d"), "query.from", "-24h"}, {with(readPath, "from", "-foreverd"), "query.from", ""},
		{with(readPath, "from", "now", "to", "-1h"), "query.to", "before from"}, {with(readPath, "order", "down"), "query.order", "asc or desc"},
		{with(readPath, "limit", "0"), "query.limit", "whole number"}, {with(readPath, "limit", "-1"), "query.limit", ""}, {with(readPath, "limit", "ten"), "query.limit", "ten"},
		{with(readPath, "consistent", "maybe"), "query.consistent", "true"}, {with(readPath, "explain", "2"), "query.explain", ""},
		{with(readPath, "format", "xml"), "query.format", "ndjson"}, {with(readPath, "precision", "h"), "query.precision", "us"}, {with(readPath, "timezone", "x"), "query.timezone", ""},
		{with(readPath, "form", "now"), "query.form", "unknown parameter"}, {"/v1/streams/a%20b/devices/d1/readings", "path.stream", ""},
		{"/v1/streams/weather/devices/%20d1/readings", "path.device", "space"}, {"/v1/streams/weather/devices/" + strings.Repeat("d", 257) + "/latest", "path.device", "257"},
		{with(latestPath, "by", "color"), "query.by", "arrival"}, {with(latestPath, "device", "d1"), "query.device", "unknown parameter"}, {with(latestPath, "limit", "1"), "query.limit", "unknown parameter"},
		{with("/v1/streams/weather/latest", "device", ""), "query.device", "empty"},
		{"/v1/streams/weather/latest?device=d" + strings.Repeat("&device=d", 1000), "query.device", "1001"},
	}
	for _, row := range rows {
		s.get(row.path).problem(http.StatusBadRequest, row.param, row.says)
	}
}

// TestRead_ReportsFailure checks that a failed read is answered with 500 and a problem, or with a
// truncated body after the answer has begun. Both cases are reported as an event.
func TestRead_ReportsFailure(t *testing.T) {
	s := newServer(t, nil)
	old := noon.AddDate(0, -3, 0)
	long := strings.Repeat("x", 30<<10)
	for i := range 10 {
		s.write(fmt.Sprintf(`{"device":"d1","time":%d,"fields":{"a":"%s"}}`, old.Add(time.Duration(i)).UnixMilli()+int64(i), long))
	}
	s.write(good(noon))
	late := thisTable(s)
	s.store.set(&s.store.read, func(t grid.Table) error {
		if t == late {
			return errDisk
		}
		return nil
	})
	s.get(with(readPath, "from", "-1h")).problem(http.StatusInternalServerError, "", "")
	if s.failures() != 1 {
		t.Errorf("%d events", s.failures())
	}
	// One page is read before the failure. It is too short to be sent before the next page.
	for _, form := range []string{"json", "ndjson", "csv"} {
		r := s.get(with(readPath, "from", fmt.Sprint(old.Add(8*time.Millisecond).UnixMilli()), "format", form))
		r.problem(http.StatusInternalServerError, "", "")
		if r.header.Get("Trailer") != "" {
			t.Errorf("%s: a problem with trailers %q", form, r.header.Get("Trailer"))
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+readPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || s.failures() != 5 {
		t.Errorf("%d, %v, %d events", resp.StatusCode, err, s.failures())
	}
	s.store.set(&s.store.read, func(grid.Table) error { return varve.Errorf(varve.Unavailable, "not now") })
	if r := s.get(readPath); r.header.Get("Retry-After") != "1" {
		r.problem(http.StatusServiceUnavailable, "", "not now")
		t.Error("no Retry-After")
	}
}

// TestTimes_AcceptZeroAndLeapSeconds checks that the number 0 and the second 60 are times of
// readings, of windows and of log entries.
func TestTimes_AcceptZeroAndLeapSeconds(t *testing.T) {
	s := newServer(t, nil)
	s.write(`{"device":"d1","time":0,"fields":{"v":1}}`, `{"device":"d1","time":"2016-12-31T23:59:60Z","fields":{"v":2}}`)
	csv := "time,v\n0,3\n2016-12-31 23:59:60.5,4\n"
	if r := s.send(http.MethodPost, with(writePath, "device", "d1"), csv, "Content-Type", "text/csv"); !strings.Contains(r.body, `"stored":2`) {
		t.Fatal(r.body)
	}
	for _, tt := range []struct{ from, to, want string }{
		{"0", "2016-12-31T23:59:60Z", "1970-01-01T00:00:00Z 1970-01-01T00:00:00Z"},
		{"2016-12-31T23:59:60Z", "", "2017-01-01T00:00:00Z 2017-01-01T00:00:00.5Z"},
	} {
		var got []string
		for _, one := range decode[wire.ReadingsBody](s.get(with(readPath, "from", tt.from, "to", tt.to))).Readings {
			got = append(got, one.Time)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("from %s: %v, want %s", tt.from, got, tt.want)
		}
	}
	for _, text := range []string{"0", `"2016-12-31T23:59:60Z"`} {
		if r := s.send(http.MethodPost, "/v1/devices/d1/logs", `{"time":`+text+`,"state":"OK"}`, "Content-Type", "application/json"); r.status != http.StatusOK {
			t.Errorf("a log entry at %s: %s", text, r.body)
		}
	}
}

// TestReadings_AcceptRelativeTimes reads with times that depend on the day, the month and the zone.
func TestReadings_AcceptRelativeTimes(t *testing.T) {
	s := newServer(t, nil) // it is noon, November 18
	for i, at := range []time.Time{noon, noon.Add(-7 * time.Hour), noon.AddDate(0, 0, -1), noon.AddDate(0, -1, -1)} {
		s.write(readingOf("d1", at, fmt.Sprintf(`"a":%d`, i)))
	}
	for params, want := range map[string]int{
		"from=today": 2, "from=yesterday": 3, "to=today": 2, "from=yesterday&to=today": 1, "from=2026-11": 3, "to=2026-11": 1, "from=-1mo": 3, "from=-2mo": 4,
		"from=today&timezone=Pacific/Kiritimati": 1, // November 19 began two hours ago in that zone
	} {
		body := decode[wire.ReadingsBody](s.get(readPath + "?" + params))
		if len(body.Readings) != want {
			t.Errorf("%s: %d readings, want %d", params, len(body.Readings), want)
		}
	}
	s.get(with(readPath, "from", "-1.5mo")).problem(400, "query.from", "write it as in -24h, -7d or -1mo")
	s.get(with(readPath, "from", "2026-13")).problem(400, "query.from", "write it as in 2026-11")
}
