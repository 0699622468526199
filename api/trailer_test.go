package api_test

import (
	"fmt"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"strings"
	"testing"
	"time"
)

// TestLongCoverage_FitsTrailer checks a coverage with more tables than fit into a trailer. The trailer must
// have the number of omitted tables, and the client must be able to read the trailer.
func TestLongCoverage_FitsTrailer(t *testing.T) {
	s := newServer(t, nil)
	var body strings.Builder
	for week := range 200 {
		fmt.Fprintf(&body, `{"device":"d1","time":%q,"fields":{"a":1}}`+"\n", noon.AddDate(0, 0, -7*week).Format(time.RFC3339))
	}
	if r := s.send("POST", writePath, body.String(), "Content-Type", "application/x-ndjson"); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var answer client.Answer
	n := 0
	for _, err := range c.Readings(t.Context(), client.Query{Stream: "weather", Device: "d1"}, &answer) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if cover := answer.Coverage; n != 200 || len(cover.Read) != 12 || cover.MoreRead < 5 {
		t.Errorf("%d readings, %d tables named and %d more", n, len(cover.Read), cover.MoreRead)
	}
}

// TestMissingTables_FitTrailer checks that a trailer has the number of missing tables that it does not name.
func TestMissingTables_FitTrailer(t *testing.T) {
	s := newServer(t, nil)
	var list []string
	for week := range 200 {
		list = append(list, readingOf("d1", noon.AddDate(0, 0, -7*week), `"a":1`))
	}
	s.write(list...)
	s.store.set(&s.store.read, func(grid.Table) error { return store.ErrNoTable })
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var answer client.Answer
	for _, err := range c.Readings(t.Context(), client.Query{Stream: "weather", Device: "d1"}, &answer) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if cover := answer.Coverage; len(cover.Missing) != 12 || cover.MoreMissing < 5 || cover.MoreFailed != 0 {
		t.Errorf("%d tables named and %d more, want 12 and the others", len(cover.Missing), cover.MoreMissing)
	}
}
