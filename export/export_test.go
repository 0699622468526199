package export_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/export"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/upload"
)

// server is a server over a store in memory, with the real clock.
type server struct {
	*client.Client
	url  string
	left atomic.Int64 // how many more requests for readings or arrivals are answered; later ones fail
	cuts atomic.Int64 // how many more answers with the readings of a device are cut off
	sent int
	// engine is the engine of the server. If beforeRead is set, the server calls it with the path of each
	// request for readings or arrivals, before it answers the request.
	engine     *engine.Engine
	beforeRead func(path string)
	store      *slowStore
}

func newServer(t *testing.T) *server {
	t.Helper()
	st := &slowStore{Store: mem.New(time.Now)}
	e, err := engine.Open(t.Context(), engine.Options{Store: st, Indexed: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	handler := api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Devices: e.Devices, Logs: e.Logs,
		Alerts: e.Alerts, Items: e.Store, Changes: e.Changes, Rollups: e.Rollups, Aggregator: e.Aggregator, Conditions: e.Conditions,
		Now: time.Now, Metrics: prometheus.NewRegistry(),
	})
	s := &server{engine: e, store: st}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := strings.HasSuffix(r.URL.Path, "/readings") || strings.HasSuffix(r.URL.Path, "/arrivals")
		if reads && r.Method == http.MethodGet && s.left.Add(-1) < 0 {
			http.Error(w, "no more requests", http.StatusConflict)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/readings") && r.Method == http.MethodGet && s.cuts.Add(-1) >= 0 {
			_, _ = io.WriteString(w, "time,id,arrived\r\n2026-")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		if s.store.isSlow() {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "settle=30s", "settle=1s", 1)
		}
		if s.beforeRead != nil && reads {
			s.beforeRead(r.URL.Path)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.Client, err = client.New(h.URL); err != nil {
		t.Fatal(err)
	}
	s.url = h.URL
	s.left.Store(1 << 30)
	return s
}

// write stores n readings of three devices, with all kinds of values. Every fourth has an id of its own.
func (s *server) write(t *testing.T, n int) {
	t.Helper()
	var lines strings.Builder
	for range n {
		s.sent++
		r := map[string]any{
			"device": []string{"d,1", "d\"2", "d/3"}[s.sent%3], "time": time.Now().Add(-time.Duration(s.sent) * 13 * time.Hour).UTC().Format(time.RFC3339Nano),
			"fields": map[string]any{"n": s.sent, fmt.Sprint("only", s.sent%5): []any{json.Number("1.50"), "text \"x\",\né", true, []int{1}, json.Number("1e30")}[s.sent%5]},
		}
		if s.sent%4 == 0 {
			r["id"] = fmt.Sprint("own-", s.sent)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(text, '\n'))
	}
	s.post(t, n, lines.String())
}

func (s *server) post(t *testing.T, n int, lines string) {
	t.Helper()
	resp, err := http.Post(s.url+"/v1/streams/weather/readings", "application/x-ndjson", strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); !strings.Contains(string(text), fmt.Sprintf(`"stored":%d,`, n)) {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
}

// all returns all changes of a server as texts without arrivals.
func (s *server) all(t *testing.T) []string {
	t.Helper()
	var list []string
	for r, err := range s.Changes(t.Context(), client.ChangesQuery{Stream: "weather"}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		one := *r
		one.Arrived = time.Time{}
		list = append(list, r.Device+string(wire.AppendReading(nil, &one)))
	}
	slices.Sort(list)
	return list
}

// ingest sends all files of a folder to a server. No reading may be in them twice, or be rejected.
func (s *server) ingest(t *testing.T, dir string) (stored int) {
	t.Helper()
	selection := upload.Selection{Stream: "weather"}
	sources, err := selection.Sources([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	up, err := upload.New(upload.Options{Client: s.Client, Server: s.url, Parallel: 1, Batch: 1000}, sources)
	if err != nil {
		t.Fatal(err)
	}
	result, err := up.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result.Duplicates != 0 || result.Rejected != 0 {
		t.Errorf("%+v: want only stored readings", result)
	}
	return int(result.Stored)
}

// TestExport_MovesReadings exports a stream in three runs, interrupts each of them at every request, and
// ingests the files into another server. That server must have the same readings, each sent once.
func TestExport_MovesReadings(t *testing.T) {
	for _, format := range []export.Format{export.NDJSON, export.CSV, export.Parquet} {
		t.Run(string(format), func(t *testing.T) {
			from, to := newServer(t), newServer(t)
			dir := t.TempDir()
			o := export.Options{Client: from.Client, Stream: "weather", Dir: dir, Format: format, State: filepath.Join(dir, "progress"), FileReadings: 4}
			for run := range 3 {
				from.write(t, 25)
				cut := 0
				for ; ; cut++ {
					from.left.Store(int64(cut))
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					_, err := export.Run(ctx, o)
					cancel()
					if err == nil {
						break
					}
					if cut > 100 {
						t.Fatalf("run %d does not end: %v", run, err)
					}
				}
				from.left.Store(1 << 30)
				if cut == 0 {
					t.Error("no run was interrupted")
				}
			}
			if _, err := export.Run(t.Context(), o); err != nil { // no change exists since the last run
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || slices.ContainsFunc(files, func(p string) bool { return strings.HasSuffix(p, ".tmp") }) || len(files) < 10 {
				t.Errorf("files %v, %v", files, err)
			}
			if stored := to.ingest(t, dir); stored != 75 {
				t.Errorf("%d readings were stored, want 75", stored)
			}
			got, want := to.all(t), from.all(t)
			if len(want) != 75 || !slices.Equal(got, want) {
				t.Errorf("the servers differ:\n%s", strings.Join(slices.DeleteFunc(append(got, want...), func(r string) bool {
					return slices.Contains(got, r) == slices.Contains(want, r)
				}), "\n"))
			}
		})
	}
}

// TestExport_CopiesUnregisteredDevices exports the readings of devices that were deleted from the registry.
// One of them has readings only in an older table. One is erased after the devices were listed, and must not
// end the export.
func TestExport_CopiesUnregisteredDevices(t *testing.T) {
	for _, format := range []export.Format{export.NDJSON, export.CSV, export.Parquet} {
		from, to := newServer(t), newServer(t)
		from.write(t, 6)
		for _, age := range []int{100, 200} {
			at := time.Now().AddDate(0, 0, -age).UTC().Format(time.RFC3339Nano)
			from.post(t, 1, fmt.Sprintf(`{"device":"old %d","time":%q,"fields":{"n":1}}`, age, at))
		}
		for _, device := range []string{"d/3", "d\"2", "old 200"} {
			if err := from.DeleteDevice(t.Context(), device); err != nil {
				t.Fatal(err)
			}
		}
		from.beforeRead = func(path string) {
			if strings.HasSuffix(path, "d\"2/readings") {
				from.erase(t, "d\"2")
			}
		}
		dir := t.TempDir()
		o := export.Options{Client: from.Client, Stream: "weather", Dir: dir, Format: format, State: filepath.Join(dir, "progress")}
		p, err := export.Run(t.Context(), o)
		if err != nil || p.Devices != 5 || p.Readings != 6 {
			t.Errorf("%s: %+v, %v: want 6 readings of 5 devices", format, p, err)
		}
		if stored := to.ingest(t, dir); stored != 6 {
			t.Errorf("%s: %d readings were stored, want 6", format, stored)
		}
		if got, want := to.all(t), from.all(t); len(want) != 6 || !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", format, got, want)
		}
		o.State, o.Dir, o.RegisteredOnly = "", t.TempDir(), true
		if p, err := export.Run(t.Context(), o); err != nil || p.Devices != 2 || p.Readings != 3 {
			t.Errorf("%s, only registered devices: %+v, %v", format, p, err)
		}
	}
}

func (s *server) erase(t *testing.T, device string) {
	t.Helper()
	tables, err := s.engine.Query.TablesOf(t.Context(), varve.DefaultTenant, "weather")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		_, err := s.engine.Store.Erase(t.Context(), store.Erasure{
			Table: table, Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}, Window: varve.AllTime(), Arrived: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestExport_RequestsCutAnswerAgain checks that an export repeats the request for an answer that was cut
// off, and fails if every answer is cut off.
func TestExport_RequestsCutAnswerAgain(t *testing.T) {
	s := newServer(t)
	s.write(t, 3)
	for _, format := range []export.Format{export.NDJSON, export.CSV, export.Parquet} {
		for cuts, fails := range map[int64]bool{2: false, 3: true} {
			s.cuts.Store(cuts)
			p, err := export.Run(t.Context(), export.Options{Client: s.Client, Stream: "weather", Dir: t.TempDir(), Format: format})
			if (err != nil) != fails || !fails && p.Readings != 3 || fails && !strings.Contains(err.Error(), "the answer is incomplete") {
				t.Errorf("%s, %d cuts: %d readings, %v", format, cuts, p.Readings, err)
			}
		}
	}
}

// TestExport_RefusesOtherState checks that Run refuses the state and the folder of another export.
func TestExport_RefusesOtherState(t *testing.T) {
	s := newServer(t)
	s.write(t, 3)
	dir := t.TempDir()
	o := export.Options{Client: s.Client, Stream: "weather", Dir: dir, Format: export.NDJSON, State: filepath.Join(dir, "progress")}
	if _, err := export.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*export.Options){
		"has files of another export": func(o *export.Options) { o.State = "" },
		"belongs to an export":        func(o *export.Options) { o.Format = export.CSV },
		"is not a progress file":      func(o *export.Options) { o.State = filepath.Join(dir, "weather-000001.ndjson") },
	} {
		other := o
		change(&other)
		if _, err := export.Run(t.Context(), other); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v: want %q", err, what)
		}
	}
	if err := os.Remove(o.State); err != nil {
		t.Fatal(err)
	}
	o.Stream = "none"
	if _, err := export.Run(t.Context(), o); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("a stream that does not exist: %v", err)
	}
}

// TestExport_WritesFilesWithSamePermissions checks that files of all formats have the permissions of new files,
// so that other users may read them if the mask of the process permits it.
func TestExport_WritesFilesWithSamePermissions(t *testing.T) {
	s := newServer(t)
	s.write(t, 3)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []export.Format{export.NDJSON, export.CSV, export.Parquet} {
		dir := t.TempDir()
		if _, err := export.Run(t.Context(), export.Options{Client: s.Client, Stream: "weather", Dir: dir, Format: format}); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*."+string(format)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: files %v, %v", format, files, err)
		}
		for _, path := range files {
			if got, err := os.Stat(path); err != nil || got.Mode() != want.Mode() {
				t.Errorf("%s: %s has %v, %v, want %v", format, path, got.Mode(), err, want.Mode())
			}
		}
	}
}
