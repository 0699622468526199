package ingest_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store/local"
)

const flood = 200_000

// lateLines is a body of readings with different times in the future.
type lateLines struct {
	next int
	rest []byte
}

func (l *lateLines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.next == flood {
			return 0, io.EOF
		}
		at := time.Date(2099, 1, 1, 0, 0, l.next, 0, time.UTC)
		l.rest = fmt.Appendf(nil, `{"device":"d%d","time":"%s","fields":{"a":%d}}`+"\n", l.next%50, at.Format(time.RFC3339), l.next)
		l.next++
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// TestFlood_DelaysNoGoodReadings sends a request with 200,000 rejected readings to an embedded
// store, beside small writes to another stream. The writes must be fast, the memory must be bounded, and
// each rejected reading must be counted once.
func TestFlood_DelaysNoGoodReadings(t *testing.T) {
	st, err := local.Open(local.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), engine.Options{Store: st, Rejects: rejects.Options{Limit: rejects.DefaultLimit, Retention: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	in := ingest.New(ingest.Options{Router: e.Router, Budget: wire.NewBudget(16 << 20), Rejects: e.Rejects, Door: "test"})
	before := heap()
	var flooding sync.WaitGroup
	done := make(chan struct{})
	flooding.Go(func() {
		defer close(done)
		s, err := in.Begin(apikeys.Everything())
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		src := source(wire.NDJSON, "")
		src.Body, src.Large = &lateLines{}, true
		if err := s.Read(t.Context(), src); err != nil || s.Tally.Rejected != flood {
			t.Errorf("%v, %+v", err, s.Tally)
		}
	})
	begin := time.Now()
	slowest := writeUntil(t, in, done)
	lasted := time.Since(begin)
	flooding.Wait()
	if used := heap() - before; used > 96<<20 {
		t.Errorf("the flood uses %d MiB", used>>20)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	c := e.Rejects.Counts()
	failed := c.Dropped[rejects.StoreFailed] // on a slow machine, writes of rejects may exceed their time limit
	if dropped := c.Dropped[rejects.BufferFull] + c.Dropped[rejects.LimitReached] + failed; c.Stored > rejects.DefaultLimit || failed == 0 && c.Stored < rejects.DefaultLimit || c.Stored+dropped != flood {
		t.Errorf("%+v, want %d in all", c, flood)
	}
	t.Logf("the flood lasted %s, and the slowest small write took %s", lasted, slowest)
	if slowest > max(5*time.Second, lasted/4) { // on a slow machine, both the flood and a write take longer
		t.Errorf("a small write took %s beside a flood of %s, want no wait for its end", slowest, lasted)
	}
}

// writeUntil writes single readings until done is closed. It returns the duration of the slowest
// write.
func writeUntil(t *testing.T, in *ingest.Ingester, done <-chan struct{}) (slowest time.Duration) {
	t.Helper()
	for i := 0; ; i++ {
		select {
		case <-done:
			if i == 0 {
				t.Error("no small write ran beside the flood")
			}
			return slowest
		default:
		}
		begin := time.Now()
		s, err := in.Begin(apikeys.Everything())
		if err != nil {
			t.Fatal(err)
		}
		src := source(wire.NDJSON, "")
		src.Body = strings.NewReader(fmt.Sprintf(`{"device":"live","time":%d,"fields":{"a":%d}}`, begin.UnixMilli(), i))
		src.Defaults.Stream = "live"
		if err := s.Read(t.Context(), src); err != nil || s.Tally.Stored+s.Tally.Duplicates != 1 {
			t.Errorf("%v, %+v", err, s.Tally)
		}
		s.Close()
		slowest = max(slowest, time.Since(begin))
	}
}

// heap returns the size of the live objects on the heap, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
