package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/query"
)

// coverageOf returns the coverage in an answer, from its body or from its trailer.
func coverageOf(r *reply) (c query.Coverage) {
	r.t.Helper()
	text := []byte(r.trailer.Get("Varve-Coverage"))
	if len(text) == 0 {
		body := decode[struct {
			Coverage json.RawMessage
			Latest   []struct{ Coverage json.RawMessage }
		}](r)
		if text = body.Coverage; len(body.Latest) > 0 {
			text = body.Latest[0].Coverage
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		r.t.Fatalf("%d %.300s: %v", r.status, r.body, err)
	}
	return c
}

// TestCoverage_StatesWhenTablesWereListed checks coverage.listed in each kind of answer. It must be the
// time of the request. If the answer reads all tables, its coverage must have a table that another process
// used for the first time after the previous request.
func TestCoverage_StatesWhenTablesWereListed(t *testing.T) {
	other := newServer(t, nil)
	other.write(good(noon))
	s := newServerBefore(t, func(f *faulty) { f.Store = other.store.Store })
	for i, path := range []string{
		readPath, readPath + "?format=ndjson", readPath + "?format=csv", readPath + "?format=columns", readPath + "?consistent=true", readPath + "?from=2020-01-01",
		"/v1/streams/weather/devices/d1/latest", "/v1/streams/weather/latest?devices=d1", "/v1/streams/weather/devices/d1/aggregate?step=1y", "/v1/streams/weather/devices/d1/aggregate?step=1y&format=csv",
	} {
		s.advance(time.Minute)
		event := noon.AddDate(-i, 0, 0)
		other.write(fmt.Sprintf(`{"device":"d1","time":%q,"fields":{"v":1}}`, event.Format(time.RFC3339)))
		r := s.get(path)
		c := coverageOf(r)
		if r.status != http.StatusOK || !c.Listed.Equal(s.clock()) {
			t.Errorf("%s: %d, tables listed at %s, want %s", path, r.status, c.Listed, s.clock())
		}
		isLatest, since := strings.Contains(path, "latest"), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		hasTable := slices.ContainsFunc(c.Read, func(name string) bool { return tableHas(name, event) })
		if !hasTable && !isLatest && (!strings.Contains(path, "from") || event.After(since)) {
			t.Errorf("%s: the coverage %v lacks the table of %s", path, c.Read, event)
		}
	}
}

// tableHas reports whether the event range in the name of a table contains a time.
func tableHas(name string, at time.Time) bool {
	var from, to int64
	_, err := fmt.Sscanf(name[strings.Index(name, "_"):], "_%d_%d_", &from, &to)
	return err == nil && from <= at.Unix() && at.Unix() < to
}
