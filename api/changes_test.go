package api_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
)

const changesPath = "/v1/streams/weather/arrivals"

// withChanges sets the options of a server that records the changes of all streams except the stream
// "off".
func withChanges(o *engine.Options, _ *api.Limits) {
	o.Indexed = func(stream string) bool { return stream != "off" }
}

func withRejectsAndChanges(o *engine.Options, l *api.Limits) {
	withRejects(o, l)
	withChanges(o, l)
}

func readingOf(device string, at time.Time, fields string) string {
	return fmt.Sprintf(`{"device":%q,"time":%q,"fields":{%s}}`, device, at.Format(time.RFC3339Nano), fields)
}

// TestChanges_ArePagedByArrival reads readings of two devices in the order of arrival, in pages, by
// change cursor and by time, and in all formats.
func TestChanges_ArePagedByArrival(t *testing.T) {
	s := newServer(t, withChanges)
	s.write(readingOf("b,1", noon, `"a":1.50`), readingOf("a", noon.AddDate(0, -3, 0), `"a":2`))
	s.advance(time.Minute)
	body := decode[wire.ChangesBody](s.get(changesPath))
	if len(body.Readings) != 2 || body.More || body.Readings[0].Device != "a" || body.Readings[1].Device != "b,1" || body.Settled != "2026-11-18T12:01:00Z" {
		t.Fatalf("%+v", body)
	}
	s.write(readingOf("a", noon.AddDate(0, -2, 0), `"device":3`))
	// This write is a duplicate of the first reading of device a.
	s.send("POST", writePath, readingOf("a", noon.AddDate(0, -3, 0), `"a":2`), "Content-Type", "application/x-ndjson")
	s.advance(time.Minute)
	second := decode[wire.ChangesBody](s.get(with(changesPath, "since", body.Next)))
	if len(second.Readings) != 1 || fmt.Sprint(second.Readings[0].Fields) != "map[device:3]" {
		t.Errorf("%+v: want the reading that is new", second)
	}
	if again := decode[wire.ChangesBody](s.get(with(changesPath, "since", second.Next))); len(again.Readings) != 0 || again.Next == "" {
		t.Errorf("%+v: want no change", again)
	}
	if byTime := decode[wire.ChangesBody](s.get(with(changesPath, "since", "-90s"))); len(byTime.Readings) != 1 {
		t.Errorf("since -90s: %+v", byTime)
	}
	r := s.get(with(changesPath, "format", "csv"))
	rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil || len(rows) != 4 || strings.Join(rows[0], " ") != "device time id arrived a fields.device" || rows[3][0] != "b,1" || rows[3][4] != "1.50" {
		t.Errorf("%v %q", err, rows)
	}
	if r.trailer.Get(wire.HeaderNext) == "" || r.trailer.Get(wire.HeaderMore) != "false" || r.trailer.Get(wire.HeaderSettled) != "2026-11-18T12:02:00Z" {
		t.Errorf("trailers %v", r.trailer)
	}
	stream := s.get(with(changesPath, "format", "arrow", "numbers", "float"))
	if got, want := schemaText(t, stream.body), "device utf8\ntime timestamp[ns, tz=UTC]\nid utf8\narrived timestamp[ms, tz=UTC]\na float64 number\nfields.device float64 number"; got != want {
		t.Errorf("columns of Arrow:\n%s\nwant\n%s", got, want)
	}
	if got := arrowTexts(t, stream.body, 0); strings.Join(got, " ") != "a a b,1" || stream.trailer.Get(wire.HeaderNext) != r.trailer.Get(wire.HeaderNext) {
		t.Errorf("devices of Arrow %q, trailers %v", got, stream.trailer)
	}
	if exact := s.get(with(changesPath, "format", "arrow")); strings.Join(arrowTexts(t, exact.body, 4), " ") != "2 (null) 1.5" {
		t.Errorf("exact numbers of Arrow: %q", arrowTexts(t, exact.body, 4))
	}
	one := s.get(with(changesPath, "limit", "2", "format", "ndjson"))
	if strings.Count(one.body, "\n") != 2 || one.trailer.Get(wire.HeaderMore) != "true" {
		t.Errorf("%q %v", one.body, one.trailer)
	}
	device := decode[wire.ChangesBody](s.get("/v1/streams/weather/devices/a/arrivals"))
	if len(device.Readings) != 2 {
		t.Errorf("of device a: %+v", device)
	}
}

// arrowTexts returns the texts of a column of an Arrow stream.
func arrowTexts(t *testing.T, body string, column int) (texts []string) {
	t.Helper()
	in, err := ipc.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	for in.Next() {
		c := in.RecordBatch().Column(column)
		for i := range c.Len() {
			texts = append(texts, c.ValueStr(i))
		}
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return texts
}

// TestChanges_RefuseParameters checks the error messages for invalid requests.
func TestChanges_RefuseParameters(t *testing.T) {
	s := newServer(t, withChanges)
	s.write(good(noon))
	s.advance(time.Minute)
	next := decode[wire.ChangesBody](s.get(changesPath)).Next
	for _, row := range []struct {
		path   string
		status int
		param  string
		says   string
	}{
		{with(changesPath, "since", "soon"), 400, "query.since", "neither a time nor a cursor"},
		{with(changesPath, "since", next[:len(next)-1]), 400, "query.since", "neither a time nor a cursor"},
		{with(changesPath, "since", "2027-01-01"), 400, "query.since", "is in the future"},
		{with("/v1/streams/weather/devices/d1/arrivals", "since", next), 400, "query.since", "another stream or device"},
		{with(changesPath, "since", "2020-01-01"), 410, "query.since", "use since="},
		{with(changesPath, "wait", "2m"), 400, "query.wait", "not a time from 0s to 1m"},
		{with(changesPath, "limit", "0"), 400, "query.limit", "from 1 to 100000"},
		{with(changesPath, "format", "parquet"), 400, "query.format", ""},
		{with(changesPath, "numbers", "float"), 400, "query.numbers", "requires format=arrow"},
		{with(changesPath, "from", "-1h"), 400, "query.from", ""},
		{"/v1/streams/none/arrivals", 404, "", "none"},
		{"/v1/streams/weather/devices/none/arrivals", 404, "", "none"},
	} {
		s.get(row.path).problem(row.status, row.param, row.says)
	}
	s.send("POST", "/v1/streams/off/readings", good(noon), "Content-Type", "application/x-ndjson")
	s.get("/v1/streams/off/arrivals").problem(409, "", "streams.off.arrivals")
	plain := newServer(t, nil)
	plain.write(good(noon))
	plain.get(changesPath).problem(409, "", "no index by arrival")
}

// TestChanges_BoundTables reads large readings as CSV. The answer must end before its limit of readings,
// and the next answer must continue.
func TestChanges_BoundTables(t *testing.T) {
	s := newServer(t, withChanges)
	const n = 600
	text := strings.Repeat("x", 60_000)
	for i := 0; i < n; i += n / 6 {
		var list []string
		for k := range n / 6 {
			list = append(list, readingOf("d1", noon.Add(-time.Duration(i+k)*time.Second), `"t":"`+text+`"`))
		}
		s.write(list...)
	}
	total, since := 0, "2026-01-01T00:00:00Z"
	for pages := 1; ; pages++ {
		r := s.get(with(changesPath, "since", since, "format", "csv"))
		if len(r.body) > 36<<20 {
			t.Fatalf("an answer has %d bytes", len(r.body))
		}
		total += strings.Count(r.body, text)
		if since = r.trailer.Get(wire.HeaderNext); r.trailer.Get(wire.HeaderMore) != "true" {
			if total != n || pages < 2 {
				t.Errorf("%d readings in %d answers, want %d in at least 2", total, pages, n)
			}
			break
		}
	}
}

// TestChanges_WaitForWrites checks that a waiting request ends with a write, does not count as a read
// under way, and ends when the server stops.
func TestChanges_WaitForWrites(t *testing.T) {
	s := newServer(t, func(o *engine.Options, l *api.Limits) {
		withChanges(o, l)
		o.Now = time.Now
		l.Reads = 1
	})
	s.write(good(time.Now()))
	// The request waits, because the reading's arrival is not settled until a millisecond later.
	first := decode[wire.ChangesBody](s.get(with(changesPath, "wait", "10s")))
	next := first.Next
	answers := make(chan string, 2)
	// The server runs one read at a time, so a request may be refused while the other one reads. The
	// refused request is retried.
	get := func(path string) (r *reply) {
		for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
			if r = s.get(path); r.status != 429 {
				break
			}
		}
		return r
	}
	ask := func() {
		r := get(with(changesPath, "since", next, "wait", "50s"))
		answers <- fmt.Sprint(r.status, " ", strings.Count(r.body, `"device":"w"`))
	}
	go ask()
	for range 3 {
		if r := get("/v1/streams/weather/devices/d1/readings"); r.status != 200 {
			t.Fatalf("a read beside a waiting request: %d %s", r.status, r.body)
		}
	}
	s.write(readingOf("w", time.Now(), `"a":1`))
	select {
	case got := <-answers:
		if got != "200 1" {
			t.Fatalf("the waiting request got %s, want 200 1", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the wait did not end with the write")
	}
	next = decode[wire.ChangesBody](get(with(changesPath, "since", next, "wait", "10s"))).Next
	go ask()
	s.api.Drain()
	select {
	case got := <-answers:
		if got != "200 0" {
			t.Fatalf("after the server began to stop: %s, want 200 0", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the wait did not end with the server")
	}
}

// TestClient_YieldsChanges reads changes in pages of two, and continues at the stored change cursor.
func TestClient_YieldsChanges(t *testing.T) {
	s := newServer(t, withChanges)
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context, cursor *string) (all []string) {
		for r, err := range c.Changes(ctx, client.ChangesQuery{Stream: "weather", Since: *cursor, Limit: 2}, cursor) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r.Device+" "+r.Arrived.Format(time.TimeOnly))
		}
		return all
	}
	cursor := ""
	s.write(readingOf("c", noon, `"a":1`), readingOf("b", noon, `"a":1`), readingOf("a/x", noon, `"a":1`))
	s.advance(time.Minute)
	if got := fmt.Sprint(read(t.Context(), &cursor)); got != "[a/x 12:00:00 b 12:00:00 c 12:00:00]" {
		t.Error(got)
	}
	s.write(readingOf("b", noon.Add(time.Second), `"a":1`))
	s.advance(time.Minute)
	if got := fmt.Sprint(read(t.Context(), &cursor)); got != "[b 12:01:00]" {
		t.Error(got)
	}
	_, err = c.ReadChanges(t.Context(), client.ChangesQuery{Stream: "weather", Since: "2020-01-01"}, func(*varve.Reading) error { return nil })
	if varve.FailureOf(err) != varve.Gone || url.QueryEscape(err.Error()) == "" {
		t.Errorf("%v: want Gone", err)
	}
}
