package export_test

import (
	"context"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/export"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// slowStore is a store in memory. After a call of hold, the first write ends only when release is called.
type slowStore struct {
	*mem.Store
	mu      sync.Mutex
	slow    bool
	waiting chan struct{} // closed when the slow write has begun; nil after that
	end     chan struct{}
}

func (s *slowStore) hold() (waiting chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow, s.waiting, s.end = true, make(chan struct{}), make(chan struct{})
	return s.waiting
}

func (s *slowStore) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slow {
		close(s.end)
	}
	s.slow = false
}

// isSlow reports whether a write may be held.
func (s *slowStore) isSlow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

func (s *slowStore) Write(ctx context.Context, batches []store.Batch) []store.Result {
	s.mu.Lock()
	waiting, end := s.waiting, s.end
	s.waiting = nil
	s.mu.Unlock()
	if waiting != nil {
		close(waiting)
		<-end
	}
	return s.Store.Write(ctx, batches)
}

// TestExport_ReportsUnsettledArrivals exports a stream while a write is running, and once more. Both runs
// must copy the readings that arrived before this write, and report the time until which arrivals are
// settled. After the write, a run must copy the rest.
func TestExport_ReportsUnsettledArrivals(t *testing.T) {
	s := newServer(t)
	s.write(t, 9)
	// The next write must arrive in a later millisecond. Otherwise the first readings are not settled either.
	for written := time.Now().UnixMilli(); time.Now().UnixMilli() == written; {
		runtime.Gosched()
	}
	waiting := s.store.hold()
	t.Cleanup(s.store.release)
	began, ended := time.Now(), make(chan struct{})
	go func() {
		defer close(ended)
		resp, err := http.Post(s.url+"/v1/streams/weather/readings", "application/x-ndjson", strings.NewReader(`{"device":"slow","time":"2026-01-01T00:00:00Z","fields":{"n":1}}`))
		if err != nil {
			t.Error(err)
			return
		}
		_ = resp.Body.Close() // the test reads the reading later
	}()
	<-waiting
	s.write(t, 2)
	dir := t.TempDir()
	o := export.Options{Client: s.Client, Stream: "weather", Dir: dir, Format: export.NDJSON, State: filepath.Join(dir, "state")}
	for run, want := range []int{9, 0} {
		p, err := export.Run(t.Context(), o)
		if err != nil || p.Readings != want {
			t.Fatalf("run %d: %+v, %v; want %d readings", run, p, err, want)
		}
		if p.SettledUntil.IsZero() || p.SettledUntil.After(time.Now()) || p.SettledUntil.Before(began.Add(-time.Minute)) {
			t.Errorf("run %d: settled until %s, want a time shortly after %s", run, p.SettledUntil, began)
		}
	}
	s.store.release()
	<-ended
	if p, err := export.Run(t.Context(), o); err != nil || p.Readings != 3 || !p.SettledUntil.IsZero() {
		t.Errorf("after the write: %+v, %v; want 3 readings, and all arrivals settled", p, err)
	}
}

// TestExport_ReportsProgress checks the counts after each page of both kinds of runs.
func TestExport_ReportsProgress(t *testing.T) {
	s := newServer(t)
	s.write(t, 30)
	dir := t.TempDir()
	var reports []export.Progress
	o := export.Options{
		Client: s.Client, Stream: "weather", Dir: dir, Format: export.NDJSON, State: filepath.Join(dir, "state"), FileReadings: 4,
		Progress: func(p export.Progress) { reports = append(reports, p) },
	}
	done, err := export.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// Each of the three devices has ten readings, in pages of 4, 4 and 2.
	var counts, devices []int
	for i, p := range reports {
		counts, devices = append(counts, p.Readings), append(devices, p.Devices)
		if !p.IsFirstCopy || p.TotalDevices != 3 || p.Bytes > done.Bytes || i > 0 && p.Files < reports[i-1].Files {
			t.Errorf("report %d: %+v", i, p)
		}
	}
	checkInts(t, "readings", counts, 4, 8, 10, 14, 18, 20, 24, 28, 30)
	checkInts(t, "devices", devices, 0, 0, 1, 1, 1, 2, 2, 2, 3)
	if done.Readings != 30 || done.Devices != 3 || done.Files < reports[len(reports)-1].Files || done.Bytes == 0 {
		t.Errorf("the first run: %+v", done)
	}
	s.write(t, 9)
	reports = nil
	if done, err = export.Run(t.Context(), o); err != nil || done.Readings != 9 || done.IsFirstCopy || done.TotalDevices != 0 {
		t.Fatalf("the second run: %+v, %v", done, err)
	}
	if len(reports) == 0 || reports[0].Readings != 4 || reports[0].IsFirstCopy {
		t.Errorf("the second run reports %+v, want 4 readings at first", reports)
	}
}

func checkInts(t *testing.T, name string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}
