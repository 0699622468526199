package s3_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/s3"
)

// TestPutNew_RepeatsConflicts uses a service that answers 409 to some writes, as S3 does while another
// request writes the same key. No real service can be made to do so at will.
func TestPutNew_RepeatsConflicts(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	for name, c := range map[string]struct {
		conflicts int64
		then      int
		exists    bool
		fails     bool
	}{
		"written":       {conflicts: 2, then: http.StatusOK},
		"other wins":    {conflicts: 2, then: http.StatusPreconditionFailed, exists: true, fails: true},
		"never settled": {conflicts: 1000, then: http.StatusOK, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if requests.Add(1) <= c.conflicts {
					w.WriteHeader(http.StatusConflict)
					return
				}
				w.WriteHeader(c.then)
			}))
			defer service.Close()
			b, err := s3.Open(t.Context(), s3.Options{Bucket: "b", Endpoint: service.URL, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			err = b.PutNew(t.Context(), "key", []byte("text"))
			if (err != nil) != c.fails || errors.Is(err, objectstore.ErrExists) != c.exists {
				t.Errorf("error %v after %d requests", err, requests.Load())
			}
		})
	}
}
