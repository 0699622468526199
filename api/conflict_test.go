package api_test

import (
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"net/http"
	"strings"
	"testing"
)

// named returns a reading of device d1 at noon, with an id. Its field v has the given JSON value.
func named(id, value string) string {
	return fmt.Sprintf(`{"device":"d1","time":%d,"id":%q,"fields":{"v":%s}}`, noon.UnixMilli(), id, value)
}

func TestWrites_AnswerConflicts(t *testing.T) {
	s := newServer(t, nil)
	big := `"` + strings.Repeat("x", 2000) + `"`
	rows := []struct {
		why, body string
		status    int
		want      string // numbers of stored, duplicate and rejected readings; each reject's index, code and stored values
	}{
		{"new", "[" + named("m1", "999") + "," + named("m2", big) + "]", 200, "2 0 0"},
		{"a retry, with other decimals", named("m1", "999.0"), 200, "0 1 0"},
		{"one conflict", named("m1", "20"), 422, `0 0 1 0/conflict/{"v":999}`},
		{"a conflict among others", "[" + named("m1", "999") + "," + named("m3", "1") + "," + named("m1", "20") + "]", 207, `1 1 1 2/conflict/{"v":999}`},
		{"both in one body", "[" + named("m4", "22.40") + "," + named("m4", "20") + "]", 207, `1 0 1 1/conflict/{"v":22.40}`},
		{"what is stored is long", named("m2", "1"), 422, `0 0 1 0/conflict/`},
	}
	for _, row := range rows {
		r := s.send("POST", writePath, row.body)
		a := decode[wire.WriteAnswer](r)
		got := fmt.Sprintf("%d %d %d", a.Stored, a.Duplicates, a.Rejected)
		for _, j := range a.Rejects {
			got += fmt.Sprintf(" %d/%s/%s", j.Index, j.Code, j.Stored)
		}
		if r.status != row.status || got != row.want {
			t.Errorf("%s: %d %s, want %d %s", row.why, r.status, got, row.status, row.want)
		}
	}
	a := decode[wire.WriteAnswer](s.send("POST", writePath, named("m1", "20")))
	if got, want := a.Rejects[0].Message, `id "m1" is stored with {"v":999} and was sent with {"v":20}: send another id`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if r := s.get("/v1/streams/weather/devices/d1/readings"); !strings.Contains(r.body, `"v":999`) || strings.Contains(r.body, `"v":20}`) {
		t.Errorf("the first values do not stay: %s", r.body)
	}
	if r := s.get("/metrics"); !strings.Contains(r.body, `varve_readings_rejected_total{code="conflict"} 5`) {
		t.Error("conflicts are not counted")
	}
}

// TestWrites_BoundStoredValues checks that an answer with thousands of conflicts of long readings
// has the stored values of only some conflicts.
func TestWrites_BoundStoredValues(t *testing.T) {
	s := newServer(t, nil)
	body := func(text string) string {
		var lines strings.Builder
		for i := range 4000 {
			lines.WriteString(named(fmt.Sprint("m", i), `"`+strings.Repeat(text, 1000)+`"`) + "\n")
		}
		return lines.String()
	}
	if r := s.send("POST", writePath, body("x"), "Content-Type", "application/x-ndjson"); r.status != http.StatusOK {
		t.Fatal(r.status, r.body)
	}
	r := s.send("POST", writePath, body("y"), "Content-Type", "application/x-ndjson")
	a := decode[wire.WriteAnswer](r)
	if len(a.Rejects) != 4000 || a.Rejects[0].Stored == nil || a.Rejects[3999].Stored != nil || len(r.body) > 6<<20 {
		t.Errorf("%d: %d rejects in %d bytes", r.status, len(a.Rejects), len(r.body))
	}
}
