package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
)

// TestArrivals_CountsOwnTenant checks that the readings of a request are counted by verdict and lag,
// and that another tenant does not see them.
func TestArrivals_CountsOwnTenant(t *testing.T) {
	l := newLocked(t)
	other := l.create(apikeys.Draft{Tenant: "another", Scopes: apikeys.Read})
	l.as(l.keys["rw"], "POST", writePath, good(noon.AddDate(0, 0, -3)))
	l.as(l.keys["rw"], "POST", writePath, good(noon.AddDate(0, 0, -3)))
	l.as(l.keys["rw"], "POST", writePath, `{"device":"d1"}`)
	for key, want := range map[string]int64{l.keys["read"]: 1, other: 0} {
		r := l.as(key, "GET", "/v1/arrivals", "")
		var body wire.ArrivalsBody
		if err := json.Unmarshal([]byte(r.body), &body); err != nil || r.status != http.StatusOK {
			t.Fatalf("%d %s: %v", r.status, r.body, err)
		}
		var late, duplicates, rejected int64
		for _, s := range body.Streams {
			for i, bound := range body.Bounds {
				if bound == 7*24*3600 {
					late += s.Lag[i]
				}
			}
			duplicates += s.Duplicates
			rejected += s.Rejected
		}
		if late != want || duplicates != want || rejected != want || len(body.Minutes) != 61 {
			t.Errorf("late %d, duplicates %d, rejected %d, want %d of each: %s", late, duplicates, rejected, want, r.body)
		}
	}
}
