package api_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/grid"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// packedBulk returns a gzip body of n readings of 60 KB each.
func packedBulk(t *testing.T, f wire.Format, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	text := strings.Repeat("x", 60_000)
	for i := range n {
		open, end := "", "\n"
		if f == wire.JSON {
			open, end = ",", ""
			if i == 0 {
				open = "["
			}
			if i == n-1 {
				end = "]"
			}
		}
		if _, err := fmt.Fprintf(z, `%s{"device":"d1","time":%d,"fields":{"a":"%s"}}%s`, open, noon.UnixMilli()-int64(i), text, end); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestWrites_LimitMemory checks that eight concurrent bodies, which are small when compressed and
// large when decompressed, use at most 150 MiB of heap.
func TestWrites_LimitMemory(t *testing.T) {
	s := newServer(t, nil)
	n := 500
	if testing.Short() {
		n = 400
	}
	var mu sync.Mutex
	var most uint64
	s.store.set(&s.store.write, func(grid.Table) error {
		mu.Lock()
		defer mu.Unlock()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
		return errDisk // so that no reading is stored
	})
	bodies := map[wire.Format][]byte{wire.JSON: packedBulk(t, wire.JSON, n), wire.NDJSON: packedBulk(t, wire.NDJSON, n)}
	debug.FreeOSMemory()
	var wg sync.WaitGroup
	for i := range 8 {
		f := []wire.Format{wire.JSON, wire.NDJSON}[i%2]
		wg.Go(func() {
			r := s.sendReader("POST", writePath, bytes.NewReader(bodies[f]), "Content-Type", f.MediaType(), "Content-Encoding", "gzip")
			if a := decode[wire.WriteAnswer](r); r.status != http.StatusServiceUnavailable || int(a.Rejected) != n {
				t.Errorf("%d %.200s", r.status, r.body)
			}
		})
	}
	wg.Wait()
	if most > 150<<20 {
		t.Errorf("%d MiB at most", most>>20)
	}
	t.Logf("%d MiB at most", most>>20)
}
