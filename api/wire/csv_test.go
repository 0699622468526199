package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// csvRows are rows for a body that begins with the constant header. Each row is between two valid rows,
// so that it begins on line 3.
var csvRows = []struct {
	why, rows, want string
	says            string
}{
	{"too few columns", "1475001526000,d1", "2:ok 3:malformed 4:ok", "2 columns, and the header 3"},
	{"too many columns", "1475001526000,d1,1,2", "2:ok 3:malformed 4:ok", "4 columns, and the header 3"},
	{"a comma at the end", "1475001526000,d1,1,", "2:ok 3:malformed 4:ok", "4 columns"},
	{"one word", "hello", "2:ok 3:malformed 4:ok", "1 column,"},
	{"a stray quote", `1475001526000,d1,a"b`, "2:ok 3:malformed 4:ok", "quote"},
	{"text behind a quote", `1475001526000,d1,"a"b`, "2:ok 3:malformed 4:ok", "quote"},
	{"a quote that is not closed", `1475001526000,d1,"a`, "2:ok 3:malformed 4:ok", "not closed"},
	{"two quotes that are not closed", "1475001526000,d1,\"a\n1475001526000,d1,\"b", "2:ok 3:malformed 4:malformed 5:ok", "quote"},
	{"a quote that is closed in another row", "1475001526000,d1,\"a\n1475001526000,\"d1\",1", "2:ok 3:malformed 4:ok 5:ok", "not closed"},
	{"a line break in a cell", "1475001526000,d1,\"a\nb\"", "2:ok 3:ok 5:ok", ""},
	{"a blank line in a cell", "1475001526000,d1,\"a\n\nb\"", "2:ok 3:ok 6:ok", ""},
	{"blank lines between", "\n \n\r\n" + goodRow, "2:ok 6:ok 7:ok", ""},
	{"no time", ",d1,1", "2:ok 3:time_missing 4:ok", "empty"},
	{"time in seconds", "1475001526,d1,1", "2:ok 3:time_unit 4:ok", "looks like seconds"},
	{"time is a word", "never,d1,1", "2:ok 3:time_invalid 4:ok", "never"},
	{"no device", "1475001526000,,1", "2:ok 3:device_invalid 4:ok", "empty"},
	{"an over-long device", "1475001526000," + repeat("d", 257) + ",1", "2:ok 3:device_invalid 4:ok", "257"},
	{"no fields", "1475001526000,d1,", "2:ok 3:field_invalid 4:ok", "no fields"},
	{"NaN", "1475001526000,d1,NaN", "2:ok 3:field_invalid 4:ok", "NaN"},
	{"minus infinity", "1475001526000,d1,-inf", "2:ok 3:field_invalid 4:ok", "-inf"},
	{"39 digits", "1475001526000,d1," + repeat("1", 39), "2:ok 3:field_invalid 4:ok", "38 significant"},
	{"a number out of range", "1475001526000,d1,1e126", "2:ok 3:field_invalid 4:ok", "outside"},
	{"Latin-1", "1475001526000,d1,Stra\xdfe", "2:ok 3:field_invalid 4:ok", "UTF-8"},
	{"70 KiB", "1475001526000,d1," + repeat("x", 70<<10), "2:ok 3:too_large 4:ok", "65536"},
	{"a line of 600 KiB", "1475001526000,d1," + repeat("x", 600<<10), "2:ok 3:too_large 4:ok", "longer than"},
	{"a quote before a line of 600 KiB", "1475001526000,d1,\"a\n" + repeat("x", 600<<10), "2:ok 3:malformed 4:too_large 5:ok", "not closed"},
}

// TestCSV_RejectsBadRows checks the code and the line of the verdict for each row, with any line ending.
// The rows around it are accepted.
func TestCSV_RejectsBadRows(t *testing.T) {
	for _, row := range csvRows {
		body := header + goodRow + "\n" + row.rows + "\n" + goodRow
		for name, body := range map[string]string{"LF": body + "\n", "no end": body, "CRLF": strings.ReplaceAll(body, "\n", "\r\n")} {
			all := mustRead(t, wire.CSV, body)
			checkMessages(t, all)
			if got := codes(all); got != row.want {
				t.Errorf("%s, %s: %s, want %s", row.why, name, got, row.want)
				continue
			}
			for _, o := range all {
				if o.verdict.Outcome == varve.Rejected && row.says != "" {
					if !strings.Contains(o.verdict.Message, row.says) {
						t.Errorf("%s: %q does not say %q", row.why, o.verdict.Message, row.says)
					}
					break
				}
			}
		}
	}
}

// TestCSV_GuessesKindOfCells checks the values of cells in a column without a kind.
func TestCSV_GuessesKindOfCells(t *testing.T) {
	rows := []struct{ cell, want string }{
		{"1", "number(1)"}, {"-1.50", "number(-1.50)"}, {"+5", "number(5)"}, {".5", "number(0.5)"}, {"5.", "number(5)"}, {"-.5", "number(-0.5)"},
		{"1e3", "number(1000)"}, {"007", "string(007)"}, {"1.2.3", "string(1.2.3)"}, {"-", "string(-)"}, {"+-5", "string(+-5)"}, {".", "string(.)"},
		{"1,5", "string(1,5)"}, {"12:30", "string(12:30)"}, {"true", "boolean(true)"}, {"false", "boolean(false)"}, {"TRUE", "string(TRUE)"},
		{`[1, 2]`, "JSON([1,2])"}, {`{"b":1,"a":2}`, `JSON({"a":2,"b":1})`}, {"[broken", "string([broken)"}, {"{}", "JSON({})"},
		{" x ", "string( x )"}, {"nano", "string(nano)"}, {"null", "string(null)"}, {"Straße", "string(Straße)"}, {"a\"b", "string(a\"b)"},
		{"a\nb", "string(a\nb)"}, {"a\r\nb", "string(a\r\nb)"},
	}
	for _, row := range rows {
		quoted := `"` + strings.ReplaceAll(row.cell, `"`, `""`) + `"`
		all := mustRead(t, wire.CSV, header+"1475001526000,d1,"+quoted+"\r\n")
		if codes(all) != "2:ok" || fields(&all[0].reading) != "a="+row.want {
			t.Errorf("%q: %s %s, want %s", row.cell, codes(all), fields(&all[0].reading), row.want)
		}
	}
}

// TestCSV_AppliesKinds checks that a cell has the kind of its column or is rejected.
func TestCSV_AppliesKinds(t *testing.T) {
	rows := []struct {
		kind       varve.Kind
		cell, want string
	}{
		{varve.KindString, "007", "a=string(007)"}, {varve.KindString, "1", "a=string(1)"}, {varve.KindString, "NaN", "a=string(NaN)"},
		{varve.KindNumber, "1.0", "a=number(1.0)"}, {varve.KindNumber, "007", "field_invalid"}, {varve.KindNumber, "x", "field_invalid"},
		{varve.KindBool, "true", "a=boolean(true)"}, {varve.KindBool, "1", "field_invalid"}, {varve.KindBool, "True", "field_invalid"},
		{varve.KindJSON, "[]", "a=JSON([])"}, {varve.KindJSON, "1", "field_invalid"}, {varve.KindJSON, "[", "field_invalid"},
	}
	for _, row := range rows {
		c := wire.Columns{Kinds: map[string]varve.Kind{"a": row.kind}}
		all := readCSV(t, header+"1475001526000,d1,"+row.cell+"\n", defaults(), c)
		got := string(all[0].verdict.Code)
		if got == "" {
			got = fields(&all[0].reading)
		}
		if got != row.want {
			t.Errorf("%s as %s: %s, want %s", row.cell, row.kind, got, row.want)
		}
	}
	for _, k := range []varve.Kind{varve.KindNumber, varve.KindString, varve.KindBool, varve.KindJSON} {
		if got, err := wire.ParseKind(k.String()); got != k || err != nil {
			t.Errorf("kind %s: %v, %v", k, got, err)
		}
	}
	if _, err := wire.ParseKind("float"); err == nil {
		t.Error("kind float is known")
	}
}

// TestCSV_AssignsColumnsOfHeader checks the roles of columns. A header without a time or a
// device must be an error that lists the columns.
func TestCSV_AssignsColumnsOfHeader(t *testing.T) {
	rows := []struct {
		why, body string
		columns   wire.Columns
		want      string // text of the reading, or part of the error
	}{
		{"byte order mark", "\ufeff" + header + goodRow, wire.Columns{}, "a=number(1)"},
		{"byte order mark and quotes", "\ufeff\"time\",\"device\",\"a\"\r\n" + goodRow, wire.Columns{}, "a=number(1)"},
		{"blank lines first", "\n\r\n" + header + goodRow, wire.Columns{}, "a=number(1)"},
		{"a line break in a name", "time,device,\"a\nb\"\n" + goodRow, wire.Columns{}, "field_invalid"},
		{"timestamp stands for time", "timestamp,device,a\n" + goodRow, wire.Columns{}, "a=number(1)"},
		{"time before timestamp", "time,device,timestamp\n" + goodRow, wire.Columns{}, "timestamp=number(1)"},
		{"names of the columns", "ts,serial,nr,a\n1475001526000,d1,x,1", wire.Columns{Time: "ts", Device: "serial", ID: "nr"}, "a=number(1)"},
		{"capitals", "Time,DEVICE,ID,a\n1475001526000,d1,x,1", wire.Columns{}, "ID=string(x) a=number(1)"},
		{"a capital timestamp", "Timestamp,Device,a\n1475001526000,d1,1", wire.Columns{}, "a=number(1)"},
		{"small before capital", "Time,time,Device,device,a\n1,1475001526000,x,d1,1", wire.Columns{}, "Device=string(x) Time=number(1) a=number(1)"},
		{"fields in capitals", "time,device,fields.Device,fields.device,a\n1475001526000,d1,x,y,1", wire.Columns{}, "Device=string(x) a=number(1) device=string(y)"},
		{"no such device column", header + goodRow, wire.Columns{Device: "serial"}, `column "serial" is missing; the columns are time, device, a`},
		{"no such id column", header + goodRow, wire.Columns{ID: "nr"}, `column "nr" is missing`},
		{"no column of a kind", header + goodRow, wire.Columns{Kinds: map[string]varve.Kind{"b": varve.KindString}}, `column "b" is missing`},
		{"what a terminal minds", "ti\x1b[31mme,device,a\n" + goodRow, wire.Columns{}, `the columns are "ti\x1b[31mme", device, a`},
		{"arrived is not a field", "time,device,arrived,a\n1475001526000,d1,2020-01-01T00:00:00Z,1", wire.Columns{}, "a=number(1)"},
		{"no header", goodRow, wire.Columns{Names: []string{"time", "device", "a"}}, "a=number(1)"},
		{"no header, byte order mark", "\ufeff" + goodRow, wire.Columns{Names: []string{"time", "device", "a"}}, "a=number(1)"},
		{"semicolons", "time;device;a\n1475001526000;d1;1,5", wire.Columns{Delimiter: ';'}, "a=string(1,5)"},
		{"tabs", "time\tdevice\ta\n1475001526000\td1\t1", wire.Columns{Delimiter: '\t'}, "a=number(1)"},
		{"a delimiter of two bytes", "time·device·a\n1475001526000·d1·1", wire.Columns{Delimiter: '·'}, "a=number(1)"},
		{"a column without a name", "time,device,\n" + goodRow, wire.Columns{}, "field_invalid"},
		{"a reserved name", "time,device,_a\n" + goodRow, wire.Columns{}, "field_invalid"},
		{"space around a name", "time,device, a\n" + goodRow, wire.Columns{}, "field_invalid"},
		{"a column twice", "time,device,a,a\n" + goodRow, wire.Columns{}, "twice"},
		{"no time", "when,device,a\n" + goodRow, wire.Columns{}, "when, device, a"},
		{"no device", "time,a\n" + goodRow, wire.Columns{}, "time, a"},
		{"a time column that is not there", header + goodRow, wire.Columns{Time: "ts"}, `"ts"`},
		{"an open quote", "\"time,device,a\n" + goodRow, wire.Columns{}, "header"},
		{"a delimiter that cannot be", header + goodRow, wire.Columns{Delimiter: '"'}, "delimiter"},
	}
	for _, row := range rows {
		all, err := drain(new(wire.Memory), new(wire.Batch), wire.CSV, strings.NewReader(row.body), defaults(), row.columns)
		switch {
		case err != nil:
			var body *wire.BodyError
			if !strings.Contains(err.Error(), row.want) || !errors.As(err, &body) && varve.FailureOf(err) != varve.Invalid {
				t.Errorf("%s: %v, want %s", row.why, err, row.want)
			}
		case len(all) != 1:
			t.Errorf("%s: %d readings", row.why, len(all))
		case all[0].verdict.Outcome != 0:
			if string(all[0].verdict.Code) != row.want {
				t.Errorf("%s: %s, want %s", row.why, all[0].verdict, row.want)
			}
		case fields(&all[0].reading) != row.want || all[0].reading.Device != "d1":
			t.Errorf("%s: %s, want %s", row.why, show(&all[0].reading), row.want)
		}
	}
}

// TestCSV_UsesCapitalDeviceColumn checks that a column Device is the device column only if no
// device is given for all rows.
func TestCSV_UsesCapitalDeviceColumn(t *testing.T) {
	const body = "Time,Device,a\n1475001526000,d7,1\n"
	for device, want := range map[string]string{"": "d7 a=number(1)", "d1": "d1 Device=string(d7) a=number(1)"} {
		d := defaults()
		d.Device = device
		all := readCSV(t, body, d, wire.Columns{})
		if got := all[0].reading.Device + " " + fields(&all[0].reading); got != want {
			t.Errorf("given %q: %s, want %s", device, got, want)
		}
	}
}

// TestCSV_RefusesCarriageReturns checks that a body is refused if its lines end with carriage returns. Without
// this check, it would be a header without rows. In a quoted name, a line break is allowed.
func TestCSV_RefusesCarriageReturns(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"time,device,a\r1475001526000,d1,1\r", "the header contains a carriage return: end lines with a line feed, as in \\n or \\r\\n"},
		{"time,device,\"a\r\n(C)\"\n", ""},
		{"time,device,a\r\n", ""},
	} {
		_, err := read(wire.CSV, c.body)
		var body *wire.BodyError
		if got := errors.As(err, &body); got != (c.want != "") || got && body.Message != c.want {
			t.Errorf("%q: %v, want %q", c.body, err, c.want)
		}
	}
}
