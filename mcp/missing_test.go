package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// TestAnswers_NameMissingTables checks that each answer about readings names the tables that another program
// deleted, and that lateness is incomplete then.
func TestAnswers_NameMissingTables(t *testing.T) {
	const cover = `{"read":[],"expired":[],"missing":["t1"],"failed":[]}`
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/aggregate"):
			_, _ = w.Write([]byte(`{"buckets":[],"source":"readings","coverage":` + cover + `}`))
		case strings.HasSuffix(r.URL.Path, "/latest"):
			_, _ = w.Write([]byte(`{"latest":[{"device":"d1","reading":null,"coverage":` + cover + `}]}`))
		default:
			w.Header().Set("Content-Type", wire.NDJSON.MediaType())
			w.Header().Set("Trailer", wire.HeaderNext+", Varve-Coverage")
			w.WriteHeader(http.StatusOK)
			w.Header().Set(wire.HeaderNext, "")
			w.Header().Set("Varve-Coverage", cover)
		}
	}))
	defer h.Close()
	c, err := client.New(h.URL, client.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	query, err := s.query(t.Context(), queryParams{Stream: "weather", Device: "d1"})
	if err != nil || len(query.Missing) != 1 {
		t.Errorf("query: %+v, %v", query, err)
	}
	aggregate, err := s.aggregate(t.Context(), aggregateParams{Stream: "weather", Devices: []string{"d1"}, Step: "1h"})
	if err != nil || len(aggregate.Missing) != 1 {
		t.Errorf("aggregate: %+v, %v", aggregate, err)
	}
	latest, err := s.latest(t.Context(), latestParams{Stream: "weather", Devices: []string{"d1"}})
	if err != nil || len(latest.Missing) != 1 {
		t.Errorf("latest: %+v, %v", latest, err)
	}
	lateness, err := s.lateness(t.Context(), latenessParams{Stream: "weather", Device: "d1"})
	if err != nil || lateness.Complete || len(lateness.Missing) != 1 {
		t.Errorf("lateness: %+v, %v", lateness, err)
	}
}
