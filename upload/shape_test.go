package upload_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/upload"
)

// flaky is a store whose first writes of readings fail.
type flaky struct {
	*mem.Store
	failures atomic.Int64 // number of writes that still fail
}

func (f *flaky) Write(ctx context.Context, batches []store.Batch) []store.Result {
	if f.failures.Add(-1) >= 0 {
		results := make([]store.Result, len(batches))
		for i := range results {
			results[i].Err = errors.New("the disk is slow")
		}
		return results
	}
	return f.Store.Write(ctx, batches)
}

// newFlakyClient returns the client of a server whose first writes of readings fail.
func newFlakyClient(t *testing.T, failures int64) *client.Client {
	t.Helper()
	s := &flaky{Store: mem.New(noonClock)}
	s.failures.Store(failures)
	e, err := engine.Open(t.Context(), engine.Options{Store: s, Holder: "test", Now: noonClock})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Now: noonClock,
		Metrics: prometheus.NewRegistry(),
	}))
	t.Cleanup(func() {
		srv.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var shapedFiles = []struct {
	name, text string
	params     url.Values
	stored     int64
}{
	{"long.csv", "device,time,metric,value\nd1,2026-11-18T11:00:00Z,a,1\nd1,2026-11-18T11:00:00Z,b,2\nd1,2026-11-18T11:01:00Z,a,x y\nd1,never,a,1\n",
		url.Values{"name_column": {"metric"}, "value_column": {"value"}}, 2},
	{"halls.csv", "time,h1,h2,h3\n2026-11-18T11:00:00Z,1,2,3\n2026-11-18T11:01:00Z,1,,3\nnever,1,,\n", url.Values{"device_columns": {"t"}}, 5},
}

// TestUpload_RetriesReshapedRows uploads files in which a row is not exactly one reading. After a temporary
// failure, each reading must be stored and counted once. A rejection must have its line in the file.
func TestUpload_RetriesReshapedRows(t *testing.T) {
	for _, tt := range shapedFiles {
		t.Run(tt.name, func(t *testing.T) {
			var rejected []upload.Rejection
			o := upload.Options{
				Client: newFlakyClient(t, 1), Params: tt.params, Batch: 2,
				Events: upload.Events{Rejected: func(r upload.Rejection) { rejected = append(rejected, r) }},
			}
			path := writeFile(t, tt.name, tt.text)
			got, err := send(t, o, path)
			if want := (wire.Tally{Stored: tt.stored, Rejected: 1}); err != nil || got.Tally != want {
				t.Errorf("%+v, %v, want %+v", got.Tally, err, want)
			}
			last := int64(strings.Count(tt.text, "\n"))
			if len(rejected) != 1 || rejected[0].Code != "time_invalid" || rejected[0].Line != last || !strings.Contains(rejected[0].Reading, "never") {
				t.Errorf("%+v, want a rejection of line %d", rejected, last)
			}
			if got, err := send(t, o, path); err != nil || got.Duplicates != tt.stored {
				t.Errorf("resent: %+v, %v", got.Tally, err)
			}
		})
	}
}

// TestUpload_ResendsUnlistedRejections sends 15,900 readings. The server rejects 15,000 of them for a moment,
// and lists only 10,000 of these.
// All must be stored and counted once.
func TestUpload_ResendsUnlistedRejections(t *testing.T) {
	var wide strings.Builder
	wide.WriteString("time")
	for i := range 300 {
		fmt.Fprintf(&wide, ",h%d", i)
	}
	wide.WriteString("\n")
	for i := range 53 {
		wide.WriteString(noon.Add(-time.Duration(i)*time.Minute).Format(time.RFC3339) + strings.Repeat(",1", 300) + "\n")
	}
	for name, params := range map[string]url.Values{"wide.csv": {"device_columns": {"t"}}, "s1.csv": nil} {
		t.Run(name, func(t *testing.T) {
			text := wide.String()
			if params == nil {
				text = csv(15_900)
			}
			o := upload.Options{
				Client: newFlakyClient(t, 3), Params: params, Batch: 20_000, Checkpoint: filepath.Join(t.TempDir(), "state.json"),
				Events: upload.Events{Rejected: func(r upload.Rejection) { t.Errorf("%+v", r) }},
			}
			path := writeFile(t, name, text)
			if got, err := send(t, o, path); err != nil || got.Tally != (wire.Tally{Stored: 15_900}) {
				t.Errorf("%+v, %v, want 15900 stored readings", got.Tally, err)
			}
		})
	}
}
