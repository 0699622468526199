package s3_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/s3"
)

// unavailable is a service that fails until it is available, and then follows the contract for one key at a time.
type unavailable struct {
	available atomic.Bool
	replaces  bool // whether a write replaces an object
	written   atomic.Int64
	sum       atomic.Pointer[string]
}

func (u *unavailable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sum := r.Header.Get("X-Amz-Checksum-Sha256")
	switch {
	case !u.available.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodHead:
		w.Header().Set("X-Amz-Checksum-Sha256", *u.sum.Load())
	case r.Method == http.MethodDelete:
		u.sum.Store(nil)
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(r.URL.Path, "-wrong"):
		w.WriteHeader(http.StatusBadRequest)
	case u.sum.Load() != nil && !u.replaces:
		w.WriteHeader(http.StatusPreconditionFailed)
	default:
		u.sum.Store(&sum)
		u.written.Add(1)
	}
}

// TestOpen_PostponesCheck opens a bucket while its service is not available. With Postpone, Open must succeed, and
// writes must fail until the service is available and has the needed properties.
func TestOpen_PostponesCheck(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	for _, replaces := range []bool{false, true} {
		u := &unavailable{replaces: replaces}
		service := httptest.NewServer(u)
		defer service.Close()
		o := s3.Options{Bucket: "b", Endpoint: service.URL}
		if _, err := s3.Open(t.Context(), o); err == nil {
			t.Error("without Postpone, a service that is not available was accepted")
		}
		o.Postpone = true
		b, err := s3.Open(t.Context(), o)
		if err != nil || b.Postponed() == nil {
			t.Fatalf("with Postpone: %v, the reason is %v", err, b.Postponed())
		}
		if err := b.PutNew(t.Context(), "key", []byte("text")); err == nil || u.written.Load() > 0 {
			t.Errorf("an object was written before the check: %v", err)
		}
		u.available.Store(true)
		err = b.PutNew(t.Context(), "key", []byte("text"))
		if (err != nil) != replaces || replaces && !strings.Contains(err.Error(), "the service replaces objects") {
			t.Errorf("the service replaces objects: %t, and the write ended with %v", replaces, err)
		}
		if !replaces {
			if err := b.PutNew(t.Context(), "key", []byte("text")); !errors.Is(err, objectstore.ErrExists) {
				t.Errorf("the second write: %v", err)
			}
			continue
		}
		if _, err := s3.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the service replaces objects") {
			t.Errorf("a service that replaces objects was opened: %v", err)
		}
	}
}
