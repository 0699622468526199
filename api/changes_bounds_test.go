package api_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
)

// TestChanges_EndBeforeManyCells checks that answers in CSV and Arrow end early if readings have many
// different fields, and that the cursor continues with the next reading.
func TestChanges_EndBeforeManyCells(t *testing.T) {
	s := newServer(t, withChanges)
	const readings, most = 1000, 2 << 20
	list := make([]string, readings)
	for i := range list {
		list[i] = readingOf(fmt.Sprintf("d%d", i), noon, fmt.Sprintf(`"a%d":1,"b%d":2,"c%d":3`, i, i, i))
	}
	s.write(list...)
	s.advance(time.Minute)
	for _, format := range []string{"csv", "arrow"} {
		seen, since, more := map[string]bool{}, "-1h", "true"
		for pages := 0; more == "true"; pages++ {
			r := s.get(with(changesPath, "format", format, "since", since, "limit", "10000"))
			devices, columns := changedDevices(t, r, format)
			for _, d := range devices {
				if seen[d] {
					t.Fatalf("%s: %s is returned twice", format, d)
				}
				seen[d] = true
			}
			if len(devices)*(columns-4) > most || pages > 5 {
				t.Fatalf("%s, page %d: %d rows of %d columns, want at most %d cells", format, pages, len(devices), columns, most)
			}
			since, more = r.trailer.Get(wire.HeaderNext), r.trailer.Get(wire.HeaderMore)
		}
		if len(seen) != readings {
			t.Errorf("%s: %d readings, want %d", format, len(seen), readings)
		}
	}
}

// changedDevices returns the devices of an answer with changes, and the number of its columns.
func changedDevices(t *testing.T, r *reply, format string) (devices []string, columns int) {
	t.Helper()
	if format == "arrow" {
		return arrowTexts(t, r.body, 0), strings.Count(schemaText(t, r.body), "\n") + 1
	}
	rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil {
		t.Fatalf("%v: %.200s", err, r.body)
	}
	for _, row := range rows[1:] {
		devices = append(devices, row[0])
	}
	return devices, len(rows[0])
}

// deadlines is a ResponseWriter that records the largest write, and the writes without a new deadline.
type deadlines struct {
	*httptest.ResponseRecorder
	isNew         bool
	largest, late int
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.isNew = !t.IsZero()
	return nil
}

func (d *deadlines) Write(p []byte) (int, error) {
	if d.largest = max(d.largest, len(p)); !d.isNew {
		d.late++
	}
	d.isNew = false
	return d.ResponseRecorder.Write(p)
}

// TestChanges_ExtendDeadlineForEachPiece checks that a long answer is written in pieces, each with a new
// deadline. So a client that reads slowly has the whole time limit for each piece.
func TestChanges_ExtendDeadlineForEachPiece(t *testing.T) {
	s := newServer(t, withChanges)
	list := make([]string, 20)
	for i := range list {
		list[i] = readingOf("d", noon.Add(time.Duration(i)*time.Second), `"a":"`+strings.Repeat("x", 50<<10)+`"`)
	}
	s.write(list...)
	s.advance(time.Minute)
	for _, format := range []string{"json", "ndjson", "csv", "arrow"} {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		s.api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+with(changesPath, "format", format), http.NoBody))
		if w.Code != http.StatusOK || w.Body.Len() < 20*50<<10 || w.largest > 128<<10 || w.late > 0 {
			t.Errorf("%s: %d, %d bytes in writes of up to %d, %d without a deadline", format, w.Code, w.Body.Len(), w.largest, w.late)
		}
	}
}
