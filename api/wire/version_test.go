package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/wire"
)

// versionOf returns the id and the version of the only reading, or the code of its rejection.
func versionOf(all []outcome) string {
	if len(all) != 1 {
		return fmt.Sprint(len(all), " readings")
	}
	if all[0].verdict.Code != "" {
		return string(all[0].verdict.Code)
	}
	return fmt.Sprint(all[0].reading.ID, " ", all[0].reading.ID.Version())
}

// TestVersion_IsReadInAllForms checks valid and invalid versions in objects and rows.
func TestVersion_IsReadInAllForms(t *testing.T) {
	for members, want := range map[string]string{
		`"id":"m1","version":1`:             "m1 1",
		`"version":2147483647,"id":"m1"`:    "m1 2147483647",
		`"id":"m1","version":0`:             "m1 0",
		`"id":"m1","version":null`:          "m1 0",
		`"version":0,"id":"EHJ0CP1xDFm"`:    "EHJ0CP1xDFm 0",
		`"version":3,"id":"EHJ0CP1xDFm"`:    "EHJ0CP1xDFm 3",
		`"version":1`:                       "version_invalid",
		`"id":null,"version":1`:             "version_invalid",
		`"id":"m1","version":2147483648`:    "version_invalid",
		`"id":"m1","version":-1`:            "version_invalid",
		`"id":"m1","version":1.5`:           "version_invalid",
		`"id":"m1","version":"1"`:           "version_invalid",
		`"id":"m1","version":1,"version":2`: "malformed",
		`"id":"m1","_version":1`:            "malformed",
	} {
		body := `{"device":"d1","time":1475001526000,` + members + `,"fields":{"a":1}}`
		if got := versionOf(mustRead(t, wire.NDJSON, body)); got != want {
			t.Errorf("%s: %s, want %s", members, got, want)
		}
	}
	for cells, want := range map[string]string{"m1,1": "m1 1", "m1,": "m1 0", ",1": "version_invalid", "m1,x": "version_invalid", "m1,01": "m1 1"} {
		body := "device,time,id,_version,a\nd1,1475001526000," + cells + ",1\n"
		if got := versionOf(readCSV(t, body, defaults(), wire.Columns{})); got != want {
			t.Errorf("row %s: %s, want %s", cells, got, want)
		}
	}
}

// TestVersion_OfOtherNameIsField checks that the name version, without the underscore, is a field in CSV
// and in flat objects.
func TestVersion_OfOtherNameIsField(t *testing.T) {
	all := readCSV(t, "device,time,id,version,_version\nd1,1475001526000,m1,7,2\n", defaults(), wire.Columns{})
	if r := all[0].reading; versionOf(all) != "m1 2" || r.Field("version").String() != "7" {
		t.Errorf("row: %s, version %s", versionOf(all), r.Field("version"))
	}
	d := defaults()
	d.Flat = true
	var mem wire.Memory
	var b wire.Batch
	all, err := drain(&mem, &b, wire.NDJSON, strings.NewReader(`{"device":"d1","time":1475001526000,"id":"m1","version":7,"_version":2}`), d, wire.Columns{})
	if r := all[0].reading; err != nil || versionOf(all) != "m1 2" || r.Field("version").String() != "7" {
		t.Errorf("flat object: %s, version %s, %v", versionOf(all), r.Field("version"), err)
	}
}

// TestVersion_GroupsInLongForm checks that rows of different versions are different readings.
func TestVersion_GroupsInLongForm(t *testing.T) {
	body := "device,time,id,_version,name,value\nd1,1475001526000,m1,,a,1\nd1,1475001526000,m1,1,a,2\nd1,1475001526000,m1,1,b,3\n"
	all := readCSV(t, body, defaults(), wire.Columns{Name: "name", Value: "value"})
	if len(all) != 2 || all[0].reading.ID.Version() != 0 || all[1].reading.ID.Version() != 1 || len(all[1].reading.Fields) != 2 {
		t.Errorf("%v", all)
	}
}

// TestVersion_IsReturnedToItsReader checks that a reading has the same id and version after it is written
// in an answer or a request, and reread.
func TestVersion_IsReturnedToItsReader(t *testing.T) {
	r := mustRead(t, wire.NDJSON, `{"device":"d1","time":1475001526000,"id":"m1","version":12,"fields":{"a":1}}`)[0].reading
	var w wire.Writer
	for name, text := range map[string][]byte{"answer": w.AppendChange(nil, &r), "submission": wire.AppendSubmission(nil, &r)} {
		back := mustRead(t, wire.NDJSON, string(text))[0].reading
		if back.ID != r.ID || !bytes.Contains(text, []byte(`"id":"m1","version":12`)) {
			t.Errorf("%s: %s, want version 12", name, text)
		}
	}
	table := wire.RowWriter{Fields: []string{"a"}, Versioned: true}
	row, missing := table.AppendChangeRow(table.AppendChangesHeader(nil), &r)
	if back := readCSV(t, string(row), defaults(), wire.Columns{})[0].reading; back.ID != r.ID || missing != "" {
		t.Errorf("%s: %s, missing %q", row, back.ID.Key(), missing)
	}
	table.Versioned = false
	if _, missing := table.AppendRow(nil, &r); missing != wire.VersionColumn {
		t.Errorf("missing is %q, want %s", missing, wire.VersionColumn)
	}
}
