package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
)

// TestSnapshot_ExistsAsLongAsItsRequest checks that a snapshot lives for hours, and that only one
// exists at a time. It must be deleted when its client disconnects or the server stops.
func TestSnapshot_ExistsAsLongAsItsRequest(t *testing.T) {
	for name, end := range map[string]func(*api.Server, context.CancelFunc){
		"the client goes":  func(_ *api.Server, gone context.CancelFunc) { gone() },
		"the server stops": func(s *api.Server, _ context.CancelFunc) { s.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made, removed := 0, 0
				s := newOperated(t, nil, func(context.Context) (wire.Snapshot, func() error, error) {
					made++
					return wire.Snapshot{Dir: "/data/snapshots/1", Store: "ab"}, func() error { removed++; return nil }, nil
				})
				ctx, gone := context.WithCancel(t.Context())
				defer gone()
				answer := make(chan *httptest.ResponseRecorder, 1)
				go func() { answer <- snapshot(ctx, s) }()
				<-time.After(3 * time.Hour)
				if w := snapshot(t.Context(), s); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "under way") {
					t.Errorf("a second one is answered with %d %s", w.Code, w.Body)
				}
				if made != 1 || removed != 0 {
					t.Errorf("%d made, %d removed, want 1 and 0", made, removed)
				}
				end(s, gone)
				got := (<-answer).Body.String()
				if made != 1 || removed != 1 {
					t.Errorf("%d made, %d removed, want 1 and 1", made, removed)
				}
				if !strings.HasPrefix(got, `{"snapshot":{"dir":"/data/snapshots/1","store":"ab"`) || !strings.Contains(got, "\n"+`{"waiting":true}`) {
					t.Errorf("%.300s", got)
				}
				if strings.Contains(name, "server") != strings.Contains(got, "the server stops: start the backup again") {
					t.Errorf("%.300s", got)
				}
			})
		})
	}
}

func snapshot(ctx context.Context, s *api.Server) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/snapshots", nil))
	return w
}
