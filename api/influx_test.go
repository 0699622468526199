package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
)

func isInflux(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return slices.Contains([]string{"/write", "/query", "/ping", "/health", "/ready"}, path) || strings.HasPrefix(path, "/api/v2/") || strings.HasPrefix(path, "/api/v3/")
}

func (r *reply) influxError(status int, code, says string) wire.InfluxError {
	r.t.Helper()
	if r.status != status || r.header.Get("Content-Type") != "application/json" {
		r.t.Fatalf("%d %s %.300q, want an error %d of InfluxDB", r.status, r.header.Get("Content-Type"), r.body, status)
	}
	e := decode[wire.InfluxError](r)
	if e.Code != code || !strings.Contains(e.Message, says) || e.Error == "" {
		r.t.Errorf("%.400s: want the code %q and %q", r.body, code, says)
	}
	return e
}

// point returns a point of device d1. Its field a has the given value. Its time is this number of
// nanoseconds after 11:00.
func point(value int) string {
	return fmt.Sprintf("weather,device=d1 a=%d %d", value, noon.Add(-time.Hour).UnixNano()+int64(value))
}

// stored returns the number of readings of device d1.
func (s *server) stored() int {
	s.t.Helper()
	r := s.get(readPath + "?format=ndjson")
	if r.status == http.StatusNotFound {
		return 0 // the stream does not exist
	}
	return strings.Count(r.body, "\n")
}

// TestInflux_StoresPrecisions sends the same reading to each route, with its time in several units. The
// reading must be stored once.
func TestInflux_StoresPrecisions(t *testing.T) {
	s := newServer(t, nil)
	at := time.Date(2026, 11, 18, 11, 0, 0, 0, time.UTC)
	rows := []struct {
		path string
		unit time.Duration
	}{
		{"/write?db=x", 1}, {"/write?db=x&precision=n&rp=a&consistency=all&u=me", 1}, {"/write?db=x&precision=u", time.Microsecond},
		{"/write?db=x&precision=%C2%B5", time.Microsecond}, {"/write?db=x&precision=ms", time.Millisecond}, {"/write?db=x&precision=s", time.Second},
		{"/write?db=x&precision=m", time.Minute}, {"/write?db=x&precision=h", time.Hour},
		{"/api/v2/write?bucket=x&org=y", 1}, {"/api/v2/write?bucket=x/y&orgID=y&precision=us", time.Microsecond},
		{"/api/v2/write?bucket=x&precision=s", time.Second},
		{"/api/v3/write_lp?db=x&precision=nanosecond", 1}, {"/api/v3/write_lp?db=x&precision=second&no_sync=true", time.Second},
		{"/api/v3/write_lp?db=x&precision=auto", time.Second}, {"/api/v3/write_lp?db=x", time.Millisecond}, {"/api/v3/write_lp?db=x&accept_partial=false", time.Microsecond},
	}
	for _, row := range rows {
		body := fmt.Sprintf("weather,device=d1 a=1 %d", at.UnixNano()/int64(row.unit))
		if r := s.send(http.MethodPost, row.path, body); r.status != http.StatusNoContent || r.body != "" {
			t.Errorf("%s: %d %s", row.path, r.status, r.body)
		}
	}
	if got := s.get(readPath + "?format=csv&fields=a").body; strings.Count(got, "2026-11-18T11:00:00Z") != 1 || strings.Count(got, "\n") != 2 {
		t.Errorf("the same reading in all units is\n%s", got)
	}
}

// TestInflux_KeepsTagsApart checks that the tags of a written line are labels in PromQL and in the
// description of the device.
func TestInflux_KeepsTagsApart(t *testing.T) {
	s := newServer(t, nil)
	if r := s.send(http.MethodPost, "/write?db=x", "cpu,host=a,cpu=cpu0,stream=x idle=9\ncpu,host=a,cpu=cpu1 idle=8\n"); r.status != http.StatusNoContent {
		t.Fatal(r.status, r.body)
	}
	c := promClient(t, s, "")
	v, _, _, err := c.Query(t.Context(), `idle{stream="cpu", cpu="cpu0"}`, noon)
	want := `idle{cpu="cpu0", device="a;cpu=cpu0;stream=x", device_base="a", status="active", stream="cpu", tag_stream="x"} => 9 @[1795003200]`
	if got := fmt.Sprint(v); err != nil || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
	values, _, _, err := c.LabelValues(t.Context(), "cpu", nil, noon.Add(-time.Hour), noon)
	if got := fmt.Sprint(values); err != nil || got != "[cpu0 cpu1]" {
		t.Errorf("values %s, %v", got, err)
	}
	d := decode[wire.DeviceBody](s.get("/v1/devices/" + url.PathEscape("a;cpu=cpu0;stream=x")))
	if got := fmt.Sprint(d.Labels); got != "map[cpu:cpu0 stream:x]" {
		t.Errorf("the device has the labels %s", got)
	}
}

// TestInflux_NamesRejectedLines checks the answer to a partly invalid body, in a form that clients
// of all versions of InfluxDB read.
func TestInflux_NamesRejectedLines(t *testing.T) {
	s := newServer(t, nil)
	body := point(1) + "\n# comment\nweather a=1\nweather,device=d1 a= 1\n" + point(2) + "\r\nweather,device=d1 a=1 1475001526\n"
	e := s.send(http.MethodPost, "/api/v2/write?bucket=x", body).influxError(400, "invalid", "partial write: 3 of 5 lines were rejected: line 3: device_invalid: no tag names the device: send one of the tags")
	var got []string
	for _, l := range e.Lines {
		code, _, _ := strings.Cut(l.Message, ":")
		got = append(got, fmt.Sprint(l.Number, " ", l.Line, " ", code))
	}
	want := []string{"3 weather a=1 device_invalid", "4 weather,device=d1 a= 1 malformed", "6 weather,device=d1 a=1 1475001526 time_unit"}
	if !slices.Equal(got, want) || e.Line != 3 || !strings.HasPrefix(e.Error, "partial write of line protocol occurred") {
		t.Errorf("%q on line %d, want %q", got, e.Line, want)
	}
	if s.stored() != 2 {
		t.Errorf("%d readings are stored, want the valid ones", s.stored())
	}
	many := strings.Repeat("weather a=1\n", 150)
	if e := s.send(http.MethodPost, "/write?db=x", many).influxError(400, "invalid", "150 of 150 lines"); len(e.Lines) != 100 || !strings.Contains(e.Message, "50 more") {
		t.Errorf("%d lines are listed: %.200s", len(e.Lines), e.Message)
	}
}

// TestInflux_StoresAllOrNothing checks that with accept_partial=false, no line is stored if one is
// rejected.
func TestInflux_StoresAllOrNothing(t *testing.T) {
	s := newServer(t, nil)
	e := s.send(http.MethodPost, "/api/v3/write_lp?db=x&accept_partial=false", point(1)+"\nweather,device=d1 _a=1\n").influxError(400, "invalid", "1 line is invalid, and no line was stored")
	if s.stored() != 0 || len(e.Lines) != 1 || e.Lines[0].Number != 2 {
		t.Errorf("%d readings are stored: %+v", s.stored(), e)
	}
	s.send(http.MethodPost, "/api/v3/write_lp?db=x&accept_partial=maybe", point(1)).influxError(400, "invalid", "accept_partial")
}

// TestInflux_AsksForAllLinesAgain checks that a temporary failure is 503. If the client then
// resends all lines, each must be stored once.
func TestInflux_AsksForAllLinesAgain(t *testing.T) {
	s := newServer(t, nil)
	s.store.set(&s.store.write, func(grid.Table) error { return errDisk })
	body := point(1) + "\n" + point(2) + "\nweather a=1\n"
	r := s.send(http.MethodPost, "/write?db=x", body)
	if r.influxError(503, "unavailable", "3 of 3 lines"); r.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	}
	s.store.set(&s.store.write, nil)
	for range 2 {
		s.send(http.MethodPost, "/write?db=x", body).influxError(400, "invalid", "1 of 3 lines")
	}
	if s.stored() != 2 {
		t.Errorf("%d readings are stored", s.stored())
	}
}

// TestInflux_IsUnavailableWhenBusy checks that an overloaded server answers 503. It must never
// answer 429, because clients then discard their lines.
func TestInflux_IsUnavailableWhenBusy(t *testing.T) {
	s := newServer(t, func(o *engine.Options, _ *api.Limits) { o.MaxRequests = 1 })
	held, err := s.engine.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/write?db=x", "/api/v2/write?bucket=x", "/api/v3/write_lp?db=x"} {
		if r := s.send(http.MethodPost, path, point(1)); r.status != 503 || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %v", path, r.status, r.header)
		}
	}
	if r := s.send(http.MethodPost, "/api/v2/write?bucket=x", point(1), "User-Agent", "influxdb-client-js/1.35.0"); r.header.Get("Retry-After") != "1000" {
		t.Errorf("JavaScript reads milliseconds, and gets %q", r.header.Get("Retry-After"))
	}
	held.Done()
	if r := s.send(http.MethodPost, "/write?db=x", point(1)); r.status != 204 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestInflux_ReadsBodies checks compression, broken compression, empty bodies and any Content-Type.
func TestInflux_ReadsBodies(t *testing.T) {
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Body = 1 << 20 })
	const path = "/write?db=x"
	for _, media := range []string{"", "text/plain; charset=utf-8", "application/octet-stream", "application/x-www-form-urlencoded", "nonsense"} {
		if r := s.send(http.MethodPost, path, point(1), "Content-Type", media); r.status != 204 {
			t.Errorf("Content-Type %q: %d %s", media, r.status, r.body)
		}
	}
	good := zipped(t, point(2))
	for _, body := range []string{good, ""} {
		if r := s.send(http.MethodPost, path, body, "Content-Encoding", "gzip"); r.status != 204 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	for _, body := range []string{"", "# comments\n\n \r\n"} {
		if r := s.send(http.MethodPost, path, body); r.status != 204 {
			t.Errorf("%q: %d %s", body, r.status, r.body)
		}
	}
	s.send(http.MethodPost, path, good[:len(good)-9], "Content-Encoding", "gzip").influxError(400, "invalid", "cut off")
	s.send(http.MethodPost, path, point(3), "Content-Encoding", "gzip").influxError(400, "invalid", "not gzip")
	s.send(http.MethodPost, path, zipped(t, strings.Repeat(" ", 2<<20)), "Content-Encoding", "gzip").influxError(413, "request too large", "longer than 1 MiB")
	s.send(http.MethodPost, path, point(3), "Content-Encoding", "br").influxError(415, "unsupported media type", "br")
	if s.stored() != 2 {
		t.Errorf("%d readings are stored", s.stored())
	}
}

// TestInflux_RefusesBadParameters checks the answers to missing or invalid parameters and to wrong methods.
func TestInflux_RefusesBadParameters(t *testing.T) {
	s := newServer(t, nil)
	s.send(http.MethodPost, "/write", point(1)).influxError(400, "invalid", "database is required")
	s.send(http.MethodPost, "/api/v2/write?org=x", point(1)).influxError(400, "invalid", "bucket is required")
	s.send(http.MethodPost, "/write?db=x&precision=d", point(1)).influxError(400, "invalid", "use ns, us, ms, s, m, h or auto")
	s.send(http.MethodGet, "/write?db=x", "").influxError(405, "method not allowed", "POST")
	s.send(http.MethodGet, "/query?db=x", "").influxError(400, "invalid", "missing")
	if s.stored() != 0 {
		t.Error("something is stored")
	}
}

// TestInflux_AnswersProbes checks the statements and paths that clients request before they write.
func TestInflux_AnswersProbes(t *testing.T) {
	s := newServer(t, nil)
	rows := map[string]string{
		`CREATE DATABASE "telegraf"`: `{"results":[{"statement_id":0}]}`,
		"create database x\n":        `{"results":[{"statement_id":0}]}`,
		"SHOW DATABASES":             `{"results":[{"statement_id":0,"series":[{"name":"databases","columns":["name"],"values":[["varve"]]}]}]}`,
		"SHOW RETENTION POLICIES ON x; SHOW MEASUREMENTS LIMIT 1": `{"results":[{"statement_id":0,"series":[{"columns":["name","duration","shardGroupDuration","replicaN","default"],` +
			`"values":[["autogen","0s","168h0m0s",1,true]]}]},{"statement_id":1,"series":[{"name":"measurements","columns":["name"],"values":[]}]}]}`,
		"show diagnostics":  `{"results":[{"statement_id":0,"series":[{"name":"build","columns":["Version"],"values":[["1.8.10-varve"]]}]}]}`,
		"SELECT * FROM cpu": `{"results":[{"statement_id":0,"error":"InfluxQL is not supported: read with GET /v1/streams/{stream}/devices/{device}/readings"}]}`,
	}
	for q, want := range rows {
		form := "q=" + strings.NewReplacer(" ", "+", ";", "%3B", "\n", "%0A", `"`, "%22", "*", "%2A").Replace(q)
		for _, r := range []*reply{
			s.get("/query?" + form),
			s.send(http.MethodPost, "/query", form, "Content-Type", "application/x-www-form-urlencoded"),
			s.send(http.MethodPost, "/query?"+form, "", "Content-Encoding", "gzip"),
		} {
			if strings.TrimSpace(r.body) != want || r.status != 200 {
				t.Errorf("%q: %d %s, want %s", q, r.status, r.body, want)
			}
		}
	}
	for _, head := range []string{"Content-Encoding", "Accept"} {
		r := s.send(http.MethodGet, "/ping", "", head, "gzip")
		if r.status != 204 || r.header.Get("X-Influxdb-Version") == "" || r.header.Get("X-Influxdb-Build") == "" {
			t.Errorf("ping: %d %v", r.status, r.header)
		}
	}
	if r := s.get("/ping?verbose=true"); r.status != 200 || !strings.Contains(r.body, `"version":"1.`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := s.get("/health"); !strings.Contains(r.body, `"status":"pass","checks":[],"version":"v1.2.3"`) {
		t.Errorf("%s", r.body)
	}
}

// TestInflux_FindsKeys checks each header in which a client can send its key.
func TestInflux_FindsKeys(t *testing.T) {
	l := newLocked(t)
	key := l.keys["write"]
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	send := func(path, head, value string) *reply {
		return l.send(http.MethodPost, path, point(1), head, value)
	}
	for _, value := range []string{"Bearer " + key, "Token " + key, "token me:" + key, basic("any", key), basic(key, "")} {
		if r := send("/write?db=x", "Authorization", value); r.status != 204 {
			t.Errorf("%.12s…: %d %s", value, r.status, r.body)
		}
	}
	if r := send("/write?db=x", "X-Api-Key", key); r.status != 204 {
		t.Errorf("X-Api-Key: %d %s", r.status, r.body)
	}
	for _, value := range []string{"", "Token ", "Token x", basic("me", "x"), "Basic ?", "Digest " + key, basic("", "")} {
		r := send("/write?db=x&u=me&p=secret", "Authorization", value)
		if r.influxError(401, "unauthorized", "the parameters u and p in the address are not read"); r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%v", r.header)
		}
	}
	send("/write?db=x&p="+key, "Authorization", "Token "+key).influxError(401, "unauthorized", "stands in the address")
	send("/write?db=x", "Authorization", "Token "+l.keys["read"]).influxError(403, "forbidden", "scope write")
	if r := l.as(key, http.MethodPost, writePath, good(noon)); r.status != 200 {
		t.Errorf("the API: %d", r.status)
	}
	if r := send(writePath, "Authorization", "Token "+key); r.status != 401 {
		t.Errorf("the API accepts a Token: %d", r.status)
	}
}

// TestReading_IsOneInAllFormats checks that a reading that arrives as line protocol, JSON and CSV is
// stored once.
func TestReading_IsOneInAllFormats(t *testing.T) {
	s := newServer(t, nil)
	if r := s.send(http.MethodPost, "/write?db=x&precision=s", "weather,device=d1 a=22.40,ok=t,n=7i,note=\"x \\\"y\\\"\" 1795000000"); r.status != 204 {
		t.Fatal(r.status, r.body)
	}
	bodies := map[string]string{
		"json": `{"device":"d1","time":1795000000000,"fields":{"a":22.4,"ok":true,"n":7,"note":"x \"y\""}}`,
		"csv":  "time,device,a,ok,n,note\n2026-11-18T11:06:40Z,d1,22.4,true,7,\"x \"\"y\"\"\"\n",
		"line": "other,device=d1 n=7u,ok=TRUE,a=2.24e1,note=\"x \\\"y\\\"\" 1795000000000000000",
	}
	for format, body := range bodies {
		r := s.send(http.MethodPost, writePath+"?format="+format, body, "Content-Type", "application/json")
		if !strings.Contains(r.body, `"stored":0,"duplicates":1`) {
			t.Errorf("%s: %s", format, r.body)
		}
	}
}

// TestLines_NameTheirStreams checks that POST /v1/readings stores each line in the stream that the line
// names.
func TestLines_NameTheirStreams(t *testing.T) {
	s := newServer(t, nil)
	media := wire.Line.MediaType()
	r := s.send(http.MethodPost, "/v1/readings", point(1)+"\npressure,device=d1 b=1\nweather a=1\n", "Content-Type", media)
	if r.status != 207 || !strings.Contains(r.body, `"stored":2,"duplicates":0,"rejected":1`) || !strings.Contains(r.body, `"line":3`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if got := s.get("/v1/streams/pressure/devices/d1/readings?format=csv").body; !strings.Contains(got, "2026-11-18T12:00:00Z") {
		t.Errorf("a point without a time is not at its arrival: %s", got)
	}
	if r := s.send(http.MethodPost, "/v1/readings?device=d9", "weather a=1", "Content-Type", media); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	s.send(http.MethodPost, "/v1/readings", good(noon), "Content-Type", "application/json").problem(400, "query.format", "POST /v1/streams/{stream}/readings")
}

func TestDoors_AreCountedApart(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon))
	s.send(http.MethodPost, "/write?db=x", point(1)+"\n"+point(1)+"\nweather a=1\n")
	metrics := s.get("/metrics").body
	for _, line := range []string{
		`varve_door_readings_total{door="http",outcome="stored"} 1`, `varve_door_readings_total{door="influx",outcome="stored"} 1`,
		`varve_door_readings_total{door="influx",outcome="duplicate"} 1`, `varve_door_readings_total{door="influx",outcome="rejected"} 1`,
		`varve_door_readings_rejected_total{code="device_invalid",door="influx"} 1`, `varve_readings_total{outcome="stored"} 2`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}
