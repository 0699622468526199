package api_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
)

// silentObjects is an object store that does not answer reads while the channel "until" is open.
type silentObjects struct {
	objectstore.Store
	waiting chan struct{} // receives one element for each read that waits

	mu    sync.Mutex
	until chan struct{} // if nil, reads are answered
}

func (s *silentObjects) silence(until chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = until
}

func (s *silentObjects) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	s.mu.Lock()
	until := s.until
	s.mu.Unlock()
	if until != nil {
		s.waiting <- struct{}{}
		select {
		case <-until:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return s.Store.Get(ctx, key, offset, length)
}

// TestArchives_SilentServiceDelaysNoOtherReads lets several reads of an archive wait for an object store that does not
// answer, on a server that permits one read at a time. A read of live readings must be answered meanwhile. Once the
// object store answers, all reads must succeed.
func TestArchives_SilentServiceDelaysNoOtherReads(t *testing.T) {
	objects := &silentObjects{waiting: make(chan struct{}, 100)}
	var err error
	if objects.Store, err = folder.Open(t.TempDir(), folder.Shared); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, func(o *engine.Options, l *api.Limits) {
		o.Archive = engine.Archive{Objects: objects, Prefix: "p", ExactCounts: true}
		l.ReadsAtWork = 1
	})
	s.write(good(noon))
	s.advance(40 * 24 * time.Hour)
	if _, err := s.engine.ArchiveNow(t.Context(), []grid.Table{thisTable(s)}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{})
	objects.silence(answered)
	var group sync.WaitGroup
	paths := []string{with(readPath, "archive", "only"), with(readPath, "archive", "only", "format", "csv"), with("/v1/streams/weather/devices/d1/aggregate", "archive", "only", "step", "1h", "functions", "count")}
	replies := make([]*reply, len(paths))
	for i, path := range paths {
		group.Go(func() { replies[i] = s.get(path) })
	}
	for range paths {
		<-objects.waiting
	}
	if live := s.get(readPath); live.status != http.StatusOK {
		t.Errorf("a live read: %d %s", live.status, live.body)
	}
	objects.silence(nil)
	close(answered)
	group.Wait()
	for i, r := range replies {
		if r.status != http.StatusOK {
			t.Errorf("%s: %d %s", paths[i], r.status, r.body)
		}
	}
}
