package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
)

// changesServer answers requests for changes with a page of CSV, and appends the limits of the requests to a
// slice.
func changesServer(t *testing.T, limits *[]string, page func(limit string) string) (url string) {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := r.URL.Query().Get("limit")
		*limits = append(*limits, limit)
		w.Header().Set("Content-Type", wire.CSV.MediaType())
		w.Header().Set("Trailer", wire.HeaderNext+", "+wire.HeaderMore+", "+wire.HeaderSettled)
		_, _ = fmt.Fprint(w, page(limit))
		for name, value := range map[string]string{wire.HeaderNext: "AQx", wire.HeaderMore: "true", wire.HeaderSettled: time.Unix(0, 0).UTC().Format(time.RFC3339Nano)} {
			w.Header().Set(name, value)
		}
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// TestArrivals_LimitsEachPage checks that a limit above the maximum of a page is read as several pages.
func TestArrivals_LimitsEachPage(t *testing.T) {
	var limits []string
	url := changesServer(t, &limits, func(limit string) string {
		n := 0
		if _, err := fmt.Sscan(limit, &n); err != nil || n > maxChanges {
			t.Errorf("the limit of a page is %q", limit)
		}
		return "time,v\n" + strings.Repeat("2026-01-01T00:00:00Z,1\n", min(n, maxChanges))
	})
	if code, _ := runTo(t, "arrivals", "weather", "--limit", "250000", "-o", "csv", "--server", url); code != exitOK {
		t.Errorf("exit code %d, want 0", code)
	}
	if want := []string{"100000", "100000", "50000"}; !slices.Equal(limits, want) {
		t.Errorf("the limits are %v, want %v", limits, want)
	}
}

// TestArrivals_CountsRowsOfCSV checks that line ends in quoted texts do not count as readings.
func TestArrivals_CountsRowsOfCSV(t *testing.T) {
	var limits []string
	url := changesServer(t, &limits, func(string) string {
		return "time,text\n2026-01-01T00:00:00Z,\"one \"\"line\"\"\nand\nothers\"\n"
	})
	if code, text := runTo(t, "arrivals", "weather", "--limit", "3", "-o", "csv", "--server", url); code != exitOK {
		t.Errorf("exit code %d, want 0: %s", code, text)
	}
	if want := []string{"3", "2", "1"}; !slices.Equal(limits, want) {
		t.Errorf("the limits are %v, want %v", limits, want)
	}
}
