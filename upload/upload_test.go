package upload_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/upload"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

func noonClock() time.Time { return noon }

// newClient returns the client of a server with a store in memory. The clock of the server and the store
// stands at noon.
func newClient(t *testing.T) *client.Client {
	t.Helper()
	return newClientOf(t, engine.DefaultRotation())
}

func newClientOf(t *testing.T, policy *rotator.Policy) *client.Client {
	t.Helper()
	_, url := newServer(t, policy)
	c, err := client.New(url, client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newServer(t *testing.T, policy *rotator.Policy) (e *engine.Engine, url string) {
	t.Helper()
	now := noonClock
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(now), Holder: "test", Now: now, Rotation: policy})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Now: now,
		Metrics: prometheus.NewRegistry(), Keys: e.Keys,
	}))
	t.Cleanup(func() {
		srv.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, srv.URL
}

// csv returns n rows with a header, a second apart.
func csv(n int) string {
	var b strings.Builder
	b.WriteString("time,v\n")
	for i := range n {
		fmt.Fprintf(&b, "%s,%d\n", noon.Add(-time.Duration(i)*time.Second).Format(time.RFC3339), i)
	}
	return b.String()
}

// writeFile writes a file into a new folder named weather, which names the stream of the file. It returns
// the path of the file.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "weather")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func send(t *testing.T, o upload.Options, args ...string) (upload.Result, error) {
	t.Helper()
	sources, err := new(upload.Selection).Sources(args)
	if err != nil {
		t.Fatal(err)
	}
	up, err := upload.New(o, sources)
	if err != nil {
		t.Fatal(err)
	}
	result, err := up.Run(t.Context())
	if closeErr := up.Close(); closeErr != nil {
		t.Fatal(closeErr)
	}
	return result, err
}

// TestUpload_CountsEachReadingOnce checks that each reading gets one verdict, in each compression,
// and a second upload finds duplicates.
func TestUpload_CountsEachReadingOnce(t *testing.T) {
	for _, compression := range []string{"none", "gzip", "zstd"} {
		t.Run(compression, func(t *testing.T) {
			path := writeFile(t, "s1.csv", csv(50))
			o := upload.Options{Client: newClient(t), Batch: 7, Parallel: 3, Compression: compression}
			for i, want := range []wire.Tally{{Stored: 50}, {Duplicates: 50}} {
				if got, err := send(t, o, path); err != nil || got.Tally != want {
					t.Errorf("upload %d: %+v, %v, want %+v", i, got.Tally, err, want)
				}
			}
		})
	}
}

// TestUpload_ResumesAtCheckpoint checks that a second upload with a checkpoint sends nothing.
// Only appended lines may be sent then. If the server or a line has changed, the whole file must be sent.
func TestUpload_ResumesAtCheckpoint(t *testing.T) {
	path := writeFile(t, "s1.csv", csv(20))
	restarts := 0
	o := upload.Options{
		Client: newClient(t), Server: "http://a", Batch: 6, Checkpoint: filepath.Join(t.TempDir(), "state.json"),
		Events: upload.Events{Restarted: func(string, string) { restarts++ }},
	}
	check := func(when string, want wire.Tally, resumed int64, wantRestarts int) {
		t.Helper()
		got, err := send(t, o, path)
		if err != nil || got.Tally != want || got.Resumed != resumed || restarts != wantRestarts {
			t.Errorf("%s: %+v, %d resumed, %d restarts, %v; want %+v, %d and %d", when, got.Tally, got.Resumed, restarts, err, want, resumed, wantRestarts)
		}
	}
	check("first", wire.Tally{Stored: 20}, 0, 0)
	check("again", wire.Tally{}, 20, 0)
	o.Server = "http://b"
	check("another server", wire.Tally{Duplicates: 20}, 0, 1)
	if err := os.WriteFile(path, []byte(csv(21)), 0o600); err != nil {
		t.Fatal(err)
	}
	check("a line more", wire.Tally{Stored: 1}, 20, 1)
	check("again", wire.Tally{}, 21, 1)
	if err := os.WriteFile(path, []byte(strings.Replace(csv(21), ",5\n", ",55\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	check("a changed line", wire.Tally{Stored: 1, Duplicates: 20}, 0, 2)
}

// TestUpload_LeavesUnfinishedLine checks that a last line without a line feed is sent only when the file
// has not changed for some time.
func TestUpload_LeavesUnfinishedLine(t *testing.T) {
	path := writeFile(t, "s1.csv", csv(20)+"2026-02-01T00:00:00Z,1")
	unfinished := 0
	o := upload.Options{
		Client: newClient(t), Batch: 6, Checkpoint: filepath.Join(t.TempDir(), "state.json"),
		Events: upload.Events{Unfinished: func(string) { unfinished++ }},
	}
	for _, want := range []struct {
		stored     int64
		unfinished int
	}{{20, 1}, {1, 1}} {
		got, err := send(t, o, path)
		if err != nil || got.Stored != want.stored || got.Total() != want.stored || unfinished != want.unfinished {
			t.Errorf("%+v, %d unfinished, %v; want %+v", got, unfinished, err, want)
		}
		old := time.Now().Add(-time.Minute)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpload_LeavesOpenQuote uploads a file that is being written. It ends in a line feed inside a quoted
// cell. The next run must send the row with the rest of the cell.
func TestUpload_LeavesOpenQuote(t *testing.T) {
	head, rest := "time,v,note\n2026-11-18T11:00:00Z,1,a\n2026-11-18T11:00:01Z,2,\"b\n", "c\"\n2026-11-18T11:00:02Z,3,d\n"
	path := writeFile(t, "s1.csv", head)
	unfinished := 0
	o := upload.Options{
		Client: newClient(t), Checkpoint: filepath.Join(t.TempDir(), "state.json"),
		Events: upload.Events{Unfinished: func(string) { unfinished++ }, Rejected: func(r upload.Rejection) { t.Errorf("%+v", r) }},
	}
	for _, want := range []int64{1, 2} {
		if got, err := send(t, o, path); err != nil || got.Tally != (wire.Tally{Stored: want}) || unfinished != 1 {
			t.Errorf("%+v, %d unfinished, %v; want %d stored and 1 unfinished", got, unfinished, err, want)
		}
		if err := os.WriteFile(path, []byte(head+rest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	latest, err := o.Client.Latest(t.Context(), "weather", 0, "s1")
	if err != nil || len(latest) != 1 || latest[0].Reading.Field("note").Text() != "d" {
		t.Errorf("%v, %v", latest, err)
	}
}

// TestUpload_SendsRowsAfterStrayQuote uploads a file that is being written. A quote that stays open over many rows
// is a mistake, so only its row must be rejected.
func TestUpload_SendsRowsAfterStrayQuote(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("time,v,note\n2026-11-18T11:00:00Z,1,\"5 inch\n")
	for i := range 1000 {
		fmt.Fprintf(&rows, "%s,%d,n\n", noon.Add(-time.Duration(i)*time.Second).Format(time.RFC3339), i)
	}
	got, err := send(t, upload.Options{Client: newClient(t), Checkpoint: filepath.Join(t.TempDir(), "state.json")}, writeFile(t, "s1.csv", rows.String()))
	if err != nil || got.Rejected != 1 || got.Stored != 1000 {
		t.Errorf("%+v, %v, want 1000 stored and 1 rejected", got, err)
	}
}

// TestUpload_ReportsRejections checks that each rejection has the index and the line of its reading.
func TestUpload_ReportsRejections(t *testing.T) {
	path := writeFile(t, "s1.csv", csv(3)+"soon,7\n")
	var rejections []upload.Rejection
	got, err := send(t, upload.Options{
		Client: newClient(t), Events: upload.Events{Rejected: func(r upload.Rejection) { rejections = append(rejections, r) }},
	}, path)
	if err != nil || got.Rejected != 1 || len(rejections) != 1 {
		t.Fatalf("%+v, %v, %v, want 1 rejection", got, rejections, err)
	}
	if r := rejections[0]; r.File != path || r.Line != 5 || r.Index != 3 || r.Reading != "soon,7" || r.Code != "time_invalid" {
		t.Errorf("%+v, want the reading of line 5", r)
	}
}

// TestUpload_NamesParameterOfMissingColumn checks that a CSV file without a time fails with an
// error that has the columns of the file.
func TestUpload_NamesParameterOfMissingColumn(t *testing.T) {
	_, err := send(t, upload.Options{Client: newClient(t)}, writeFile(t, "s1.csv", "when,v\n"))
	var file *upload.FileError
	var header *upload.HeaderError
	if !errors.As(err, &file) || !errors.As(err, &header) {
		t.Fatalf("%v, want a FileError of a HeaderError", err)
	}
	if got := strings.Join(header.Columns, " "); got != "when v" {
		t.Errorf("columns %s, want when v", got)
	}
}

// TestNew_RejectsOptions checks that the error for an invalid option names the parameter.
func TestNew_RejectsOptions(t *testing.T) {
	stdin, err := (&upload.Selection{Stream: "weather", Format: "csv", Stdin: strings.NewReader("")}).Sources([]string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	for param, o := range map[string]upload.Options{
		"compress":        {Compression: "lz4"},
		"checkpoint":      {Checkpoint: filepath.Join(t.TempDir(), "state.json")},
		"query.delimiter": {Params: url.Values{"delimiter": {"ab"}}},
		"query.types":     {Params: url.Values{"types": {"a:float"}}},
	} {
		_, err := upload.New(o, stdin)
		var e *varve.Error
		if !errors.As(err, &e) || e.Param != param {
			t.Errorf("%s: %v, want an error about it", param, err)
		}
	}
}

// TestSelection_FindsFiles checks that a folder selects its files of readings, except excluded
// files.
func TestSelection_FindsFiles(t *testing.T) {
	path := writeFile(t, "s1.csv.gz", "")
	dir := filepath.Dir(path)
	for _, name := range []string{"s0.ndjson", "notes.txt", "state.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := upload.Selection{Exclude: []string{filepath.Join(dir, "state.json")}}
	sources, err := s.Sources([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range sources {
		names = append(names, filepath.Base(sources[i].Path)+" into "+sources[i].Stream)
	}
	if got, want := strings.Join(names, ", "), "s0.ndjson into weather, s1.csv.gz into weather"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

// TestSelection_AcceptsParquet checks that the format parquet selects a file without an extension, and that it
// is refused for standard input.
func TestSelection_AcceptsParquet(t *testing.T) {
	s := upload.Selection{Stream: "weather", Format: "parquet", Stdin: strings.NewReader("")}
	if _, err := s.Sources([]string{writeFile(t, "readings", "")}); err != nil {
		t.Error(err)
	}
	if _, err := s.Sources([]string{"-"}); err == nil || !strings.Contains(err.Error(), "cannot be read from standard input: name a file") {
		t.Errorf("standard input: %v", err)
	}
	s.Format = "xml"
	if _, err := s.Sources([]string{"-"}); err == nil || !strings.Contains(err.Error(), "use parquet, json") {
		t.Errorf("an unknown format: %v", err)
	}
}

// TestSources_LinesNameTheirStreams checks that a file of line protocol needs no stream, that a
// point may span lines, and that rejected lines are reported.
func TestSources_LinesNameTheirStreams(t *testing.T) {
	var b strings.Builder
	for i := range 25 {
		fmt.Fprintf(&b, "pressure,device=d%d v=%di %d\n# comment\n\n", i%3, i, noon.Add(-time.Duration(i)*time.Minute).UnixNano())
	}
	b.WriteString("pressure v=1\ntemperature,device=d1 note=\"two\nlines\" " + fmt.Sprint(noon.UnixNano()))
	path := writeFile(t, "export.lp", b.String())
	c := newClient(t)
	var rejected []upload.Rejection
	o := upload.Options{Client: c, Batch: 7, Parallel: 2, Events: upload.Events{Rejected: func(r upload.Rejection) { rejected = append(rejected, r) }}}
	result, err := send(t, o, path)
	if err != nil || result.Stored != 26 || result.Rejected != 1 {
		t.Fatalf("%+v %v", result, err)
	}
	if len(rejected) != 1 || rejected[0].Line != 76 || rejected[0].Code != "device_invalid" {
		t.Errorf("%+v", rejected)
	}
	got, err := c.Latest(t.Context(), "temperature", 0, "d1")
	if err != nil || len(got) != 1 || got[0].Reading.Field("note").Text() != "two\nlines" {
		t.Errorf("%v %v", got, err)
	}
}
