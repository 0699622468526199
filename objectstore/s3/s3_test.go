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
// request writes the same key. PutNew must repeat such a write a few times. No real service can be made to
// answer so at will.
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
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					return // the object of the other writer
				}
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

// TestPutNew_AcceptsOwnObject uses a service whose first answer is lost after the object was written. The
// client repeats the request, which finds the object. The write must succeed if the object is its own, and
// fail with ErrExists only if it is of another writer.
func TestPutNew_AcceptsOwnObject(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	for name, c := range map[string]struct {
		other, unknown bool // whether the object is of another writer, and whether its description is refused
		fails, exists  bool
	}{
		"own":     {},
		"other":   {other: true, fails: true, exists: true},
		"unknown": {unknown: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var stored http.Header
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodHead && c.unknown:
					w.WriteHeader(http.StatusForbidden)
				case r.Method == http.MethodHead:
					w.Header().Set("x-amz-meta-varve-write", stored.Get("x-amz-meta-varve-write"))
				case stored == nil:
					if stored = r.Header.Clone(); c.other {
						stored = http.Header{}
					}
					panic(http.ErrAbortHandler) // the answer is lost
				default:
					w.WriteHeader(http.StatusPreconditionFailed)
				}
			}))
			defer service.Close()
			b, err := s3.Open(t.Context(), s3.Options{Bucket: "b", Endpoint: service.URL, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			err = b.PutNew(t.Context(), "key", []byte("text"))
			if (err != nil) != c.fails || errors.Is(err, objectstore.ErrExists) != c.exists {
				t.Errorf("error %v, want a failure: %t, ErrExists: %t", err, c.fails, c.exists)
			}
		})
	}
}
