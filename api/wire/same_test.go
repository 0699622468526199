package wire_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// TestContentID_IsEqualInAllFormats checks that identity depends neither on the format of a
// reading nor on the order of its fields.
func TestContentID_IsEqualInAllFormats(t *testing.T) {
	object := `{"device":"d1","time":1475001526000,"fields":{"temperature":22.40,"ok":true,"note":"a,\"b\"\n","meta":{"z":1.0,"a":[1,2]}}}`
	turned := `{"fields":{"meta":{"a":[1,2.0],"z":1},"note":"a,\u0022b\u0022\n","ok":true,"temperature":22.4},"time":"2016-09-27T20:38:46+02:00","device":"d1"}`
	forms := []struct {
		name   string
		format wire.Format
		body   string
	}{
		{"JSON object", wire.JSON, object},
		{"JSON object, other order and spelling", wire.JSON, turned},
		{"JSON object over several lines", wire.JSON, strings.ReplaceAll(object, ",\"", ",\n\t\"")},
		{"JSON array", wire.JSON, "[" + object + "]"},
		{"JSON array with blanks", wire.JSON, " [\n" + turned + "\n]\r\n"},
		{"NDJSON", wire.NDJSON, object + "\n"},
		{"NDJSON, last line without an end", wire.NDJSON, turned},
		{"NDJSON with CRLF", wire.NDJSON, object + "\r\n"},
		{"lines sent as JSON", wire.JSON, object + "\n" + turned},
		{"CSV", wire.CSV, "device,time,temperature,ok,note,meta\n" +
			`d1,1475001526000,22.40,true,"a,""b""` + "\n" + `","{""z"":1.0,""a"":[1,2]}"` + "\n"},
		{"CSV, other order and spelling", wire.CSV, "meta,note,time,ok,device,temperature\r\n" +
			`"{""a"":[1,2],""z"":1}","a,""b""` + "\n" + `",2016-09-27 18:38:46,true,d1,22.4` + "\r\n"},
	}
	var id varve.ID
	for _, form := range forms {
		for i, o := range mustRead(t, form.format, form.body) {
			if o.verdict.Outcome != 0 {
				t.Errorf("%s: %s", form.name, o.verdict)
				continue
			}
			if id.IsZero() {
				id = o.reading.ID
			}
			r := o.reading
			if r.ID != id || r.Time.UnixMilli() != 1475001526000 || r.Series.String() != "acme/weather/d1" || len(r.Fields) != 4 {
				t.Errorf("%s, reading %d: %s, want id %s", form.name, i, show(&r), id)
			}
		}
	}
}

// TestContentID_SeparatesSimilarReadings checks that different readings have different ids, even if
// the concatenation of their names and values is the same.
func TestContentID_SeparatesSimilarReadings(t *testing.T) {
	bodies := []string{
		`{"a":"1","b":"23"}`, `{"a":"12","b":"3"}`, `{"a":1,"b":"23"}`, `{"ab":"123"}`, `{"a":"1"}`, `{"a":1}`,
		`{"a":true}`, `{"a":"true"}`, `{"a":[]}`, `{"a":"[]"}`, `{"a":{}}`, `{"a":""}`, `{"a":0}`, `{"a":false}`,
		`{"a":1e-130}`, `{"a":-1}`, `{"a":10}`, `{"a":100}`, `{"a":0.1}`,
	}
	seen := map[varve.ID]string{}
	for _, fields := range bodies {
		all := mustRead(t, wire.NDJSON, object(fields))
		if codes(all) != "1:ok" {
			t.Fatalf("%s: %s", fields, codes(all))
		}
		id := all[0].reading.ID
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s have the same id", fields, other)
		}
		seen[id] = fields
	}
}

// TestReader_KeepsDigitsOfNumbers checks that numbers do not pass through a float, and that
// their notation does not change identity.
func TestReader_KeepsDigitsOfNumbers(t *testing.T) {
	rows := []struct{ sent, kept, same string }{
		{"22.40", "22.40", "22.4"},
		{"0.1", "0.1", "1e-1"},
		{"12345678901234567890123456789012345678", "12345678901234567890123456789012345678", ""},
		{"0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001", "1e-38"},
		{"-0", "0", "0.000"},
		{"1e3", "1000", "1000.0"},
		{"9007199254740993", "9007199254740993", ""},
		{"9.9999999999999999999999999999999999999e125", "9.9999999999999999999999999999999999999e125", ""},
		{"1e60", "1e60", "1" + repeat("0", 60)},
	}
	for _, row := range rows {
		first := mustRead(t, wire.NDJSON, object(`{"a":`+row.sent+`}`))[0]
		if got := first.reading.Field("a").String(); first.verdict.Outcome != 0 || got != row.kept {
			t.Errorf("%s came back as %q: %s", row.sent, got, first.verdict)
		}
		if row.same == "" {
			continue
		}
		if again := mustRead(t, wire.NDJSON, object(`{"a":`+row.same+`}`))[0]; again.reading.ID != first.reading.ID {
			t.Errorf("%s and %s are two readings", row.sent, row.same)
		}
	}
}

// TestReader_KeepsClientIDs checks that the id of a client stays unchanged, and that the id of an answer
// restores the identity of its reading.
func TestReader_KeepsClientIDs(t *testing.T) {
	hashed := mustRead(t, wire.NDJSON, good)[0].reading.ID
	rows := []struct {
		why, json, csv string
		want           string
	}{
		{"a text", `"my-id"`, "my-id", "my-id"},
		{"as an answer has it", `"` + hashed.String() + `"`, hashed.String(), hashed.String()},
		{"null is as good as absent", `null`, "", hashed.String()},
	}
	for _, row := range rows {
		fromJSON := mustRead(t, wire.NDJSON, `{"id":`+row.json+`,"device":"d1","time":1475001526000,"fields":{"a":1}}`)[0]
		fromCSV := mustRead(t, wire.CSV, "id,"+header+row.csv+","+goodRow)[0]
		for form, o := range map[string]outcome{"JSON": fromJSON, "CSV": fromCSV} {
			if o.verdict.Outcome != 0 || o.reading.ID.String() != row.want {
				t.Errorf("%s, %s: id %q, %s", row.why, form, o.reading.ID, o.verdict)
			}
		}
		if fromJSON.reading.ID != fromCSV.reading.ID {
			t.Errorf("%s: JSON and CSV differ", row.why)
		}
	}
}
