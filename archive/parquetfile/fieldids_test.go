package parquetfile_test

import (
	"bytes"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
)

// TestFile_HasDocumentedFieldIDs reads the field ids from the footers of files with different columns. They
// must equal the list in docs/archive.md. A field must have the same id in all files, whatever its type and
// the other fields are.
func TestFile_HasDocumentedFieldIDs(t *testing.T) {
	number, text := varve.IntValue(1), varve.StringValue("x")
	inFields := map[string]int32{"temperature": 1018501000, "humidity": 134944691, "state": 1012924886} // computed by another program
	ids := map[string]int32{}
	for i, fields := range [][]varve.Field{
		{{Name: "temperature", Value: number}},
		{{Name: "humidity", Value: number}, {Name: "temperature", Value: text}},
		{{Name: "state", Value: varve.BoolValue(true)}},
	} {
		r := varve.Reading{Series: varve.Series{Tenant: "a", Stream: "s", Device: "d"}, Time: time.Unix(9, 0).UTC(), Arrived: time.Unix(9, 0).UTC(), Fields: fields}
		if i == 1 {
			id, err := varve.ParseID("m1")
			if err != nil {
				t.Fatal(err)
			}
			r.ID = id.WithVersion(2)
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		for _, f := range write(t, []varve.Reading{r}, parquetfile.Options{}, false) {
			for name, id := range footerIDs(t, f.Body) {
				if known, ok := ids[name]; ok && known != id {
					t.Errorf("%s has the ids %d and %d", name, known, id)
				}
				ids[name] = id
			}
		}
	}
	want := documentedIDs(t)
	for name, id := range inFields {
		want["fields."+name] = id
	}
	if !maps.Equal(ids, want) {
		t.Errorf("ids\n%v, want\n%v", ids, want)
	}
}

// footerIDs returns the field ids in the footer of a file, by the name of the column. Names inside fields have
// the prefix "fields.".
func footerIDs(t *testing.T, body []byte) map[string]int32 {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int32{}
	inside := int32(0) // number of columns of fields that follow
	for _, e := range f.Metadata().Schema[1:] {
		name := e.Name
		if inside > 0 {
			name, inside = "fields."+name, inside-1
		}
		if n, ok := e.NumChildren.Get(); ok {
			inside = n
		}
		ids[name] = e.FieldID
	}
	return ids
}

// documentedIDs returns the field ids in the table of columns in docs/archive.md.
func documentedIDs(t *testing.T) map[string]int32 {
	t.Helper()
	text, err := os.ReadFile("../../docs/archive.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| column | field id |")
	if !found {
		t.Fatal("docs/archive.md has no table with field ids")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	ids := map[string]int32{}
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(line, "|")
		numbers := strings.Split(cells[2], ",")
		for i, name := range strings.Split(cells[1], ",") {
			id, err := strconv.ParseInt(strings.TrimSpace(numbers[i]), 10, 32)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			ids[strings.Trim(name, " `")] = int32(id)
		}
	}
	return ids
}
