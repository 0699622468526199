package api_test

import (
	"fmt"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTooManyReads_Refused checks that reads beyond the limit get 429 with a time to wait. After the
// running read has ended, a read must be answered. Writes and operators' requests must not be limited.
func TestTooManyReads_Refused(t *testing.T) {
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Reads = 1 })
	s.write(good(noon))
	entered, gate, done := make(chan struct{}), make(chan struct{}), make(chan *reply)
	var once sync.Once
	s.store.set(&s.store.read, func(grid.Table) error {
		once.Do(func() { close(entered) })
		<-gate
		return nil
	})
	go func() { done <- s.get(readPath) }()
	<-entered
	for _, path := range []string{readPath, readPath + "?format=csv", latestPath, "/v1/devices", "/v1/streams"} {
		r := s.get(path)
		r.problem(http.StatusTooManyRequests, "", "too many reads")
		if r.header.Get("Retry-After") != "1" {
			t.Errorf("%s: %v", path, r.header)
		}
	}
	s.send("POST", "/v1/streams/weather/devices/d1/digests", `{"period":"daily","spans":[]}`, "Content-Type", "application/json").
		problem(http.StatusTooManyRequests, "", "too many reads")
	s.write(good(noon.Add(-1)))
	for _, path := range []string{"/healthz", "/metrics", "/v1/tables"} {
		if r := s.get(path); r.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	close(gate)
	if r := <-done; r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := s.get(readPath); r.status != http.StatusOK {
		t.Errorf("after it: %d %s", r.status, r.body)
	}
}

// stuck is a connection whose client reads nothing.
type stuck struct {
	*httptest.ResponseRecorder
	begun *sync.WaitGroup
	once  sync.Once
	gate  chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(s.begun.Done)
	<-s.gate
	return len(p), nil
}

// TestSlowReaders_UseLittleMemory checks that many reads by slow clients need little memory, that
// refused reads need none, and that other reads continue.
func TestSlowReaders_UseLittleMemory(t *testing.T) {
	const clients, most = 500, 80 << 20
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Reads = 400 })
	var body strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&body, `{"device":"d1","time":%d,"fields":{"a":%d,"b":1.5,"c":true,"d":"on","e":17.25}}`+"\n", noon.UnixMilli()-int64(i), i)
	}
	if r := s.send("POST", writePath, body.String(), ndjson...); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	s.get(readPath) // a first read, so that the memory that the server reuses is not measured below
	before := heap()
	var begun, ended sync.WaitGroup
	gate := make(chan struct{})
	begun.Add(clients)
	for range clients {
		ended.Go(func() {
			w := &stuck{ResponseRecorder: httptest.NewRecorder(), begun: &begun, gate: gate}
			s.api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+readPath, nil))
		})
	}
	begun.Wait()
	if grown := heap() - before; grown > most {
		t.Errorf("%d MiB are held", grown>>20)
	} else {
		t.Logf("%d MiB are held", grown>>20)
	}
	if r := s.get(readPath); r.status != http.StatusTooManyRequests {
		t.Errorf("one more: %d", r.status)
	}
	close(gate)
	ended.Wait()
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // only the second collection frees the memory of a sync.Pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestReads_UseStoreInTurn sends several requests of a route at a time. Only one of them may use the
// store at a time, because the limit is 1.
func TestReads_UseStoreInTurn(t *testing.T) {
	for _, path := range []string{
		rollupsPath, latestPath, "/v1/streams/weather/latest?devices=d1", "/v1/streams/weather/latest", "/v1/streams/weather/devices",
		"/v1/streams/weather/devices/d2/readings", // also looks for the latest reading of d2
	} {
		s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.ReadsAtWork = 1 })
		s.write(good(noon))
		var reading, most, calls atomic.Int32
		use := func(grid.Table) error {
			if n := reading.Add(1); n > most.Load() {
				most.Store(n)
			}
			for range 1000 {
				runtime.Gosched() // so that other requests get here
			}
			reading.Add(-1)
			calls.Add(1)
			return nil
		}
		s.store.set(&s.store.read, use)
		s.store.set(&s.store.last, use)
		var ended sync.WaitGroup
		for range 8 {
			ended.Go(func() {
				if r := s.get(path); r.status >= http.StatusInternalServerError {
					t.Errorf("%s: %d %s", path, r.status, r.body)
				}
			})
		}
		ended.Wait()
		if most.Load() != 1 || calls.Load() < 8 {
			t.Errorf("%s: %d reads, at most %d at a time; want at least 8, and one at a time", path, calls.Load(), most.Load())
		}
	}
}
