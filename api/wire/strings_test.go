package wire_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// TestRowWriter_ListsAmbiguousStrings writes strings that look like other kinds, and strings that do not.
// The column of strings must list only the former.
func TestRowWriter_ListsAmbiguousStrings(t *testing.T) {
	rows := []struct{ text, cells string }{
		{"12", `"[""s""]",AT,12`}, {"-1.50", `"[""s""]",AT,-1.50`}, {".5", `"[""s""]",AT,.5`}, {"1e99999", `"[""s""]",AT,1e99999`},
		{"true", `"[""s""]",AT,true`}, {"[1]", `"[""s""]",AT,[1]`}, {"{}", `"[""s""]",AT,{}`}, {"NaN", `"[""s""]",AT,NaN`}, {"", `"[""s""]",AT,`},
		{"007", ",AT,007"}, {"True", ",AT,True"}, {"[1", ",AT,[1"}, {"text", ",AT,text"}, {"-", ",AT,-"}, {"1,5", `,AT,"1,5"`},
	}
	for _, row := range rows {
		r := varve.Reading{Fields: []varve.Field{{Name: "n", Value: varve.IntValue(7)}, {Name: "s", Value: varve.StringValue(row.text)}}}
		table := wire.RowWriter{Fields: []string{"s"}, Strings: true}
		line, _ := table.AppendRow(nil, &r)
		want := "0001-01-01T00:00:00Z," + r.ID.String() + "," + strings.Replace(row.cells, "AT", "0001-01-01T00:00:00Z", 1) + "\r\n"
		if string(line) != want {
			t.Errorf("the string %q: %q, want %q", row.text, line, want)
		}
		table.Strings, table.Fields = false, []string{"n", "s"}
		if _, missing := table.AppendRow(nil, &r); (missing == wire.StringsColumn) != strings.HasPrefix(row.cells, `"`) {
			t.Errorf("the string %q without the column: missing %q", row.text, missing)
		}
	}
}

func TestCSV_ReadsListedStrings(t *testing.T) {
	d := defaults()
	d.Device = "d1"
	const head = "time,_strings,a,fields.id,n\n"
	rows := []struct {
		row     string
		columns wire.Columns
		want    string
	}{
		{`1475001526000,"[""a"",""id""]",12,true,3`, wire.Columns{}, `a="12" id="true" n=3`},
		{`1475001526000,"[""n"",""id"",""a""]",12,true,3`, wire.Columns{}, `a="12" id="true" n="3"`},
		{`1475001526000,"[""a""]",,true,3`, wire.Columns{}, `a="" id=true n=3`},
		{`1475001526000,,12,,3`, wire.Columns{}, `a=12 n=3`},
		{`1475001526000,"[""other""]",12,,3`, wire.Columns{}, `a=12 n=3`},
		{`1475001526000,"[""a"",""n""]",12,,3`, wire.Columns{Kinds: map[string]varve.Kind{"n": varve.KindNumber}}, `a="12" n=3`},
		{`1475001526000,"[""a""]",-,,3`, wire.Columns{Nulls: []string{"-"}}, `a="-" n=3`},
		{`1475001526000,a,12,,3`, wire.Columns{}, string(varve.CodeFieldInvalid)},
		{`1475001526000,"[1]",12,,3`, wire.Columns{}, string(varve.CodeFieldInvalid)},
	}
	// A row whose list has null must not use a name of the row before it.
	two := readCSV(t, head+`1475001526000,"[""a""]",12,,3`+"\n"+`1475001526001,"[null]",12,,3`+"\n", d, wire.Columns{})
	if f := two[1].reading.Fields; two[1].verdict.Code == "" && f[0].Value.Kind() != varve.KindNumber {
		t.Errorf("after a row with a list, null lists %v", f)
	}
	for _, row := range rows {
		one := readCSV(t, head+row.row+"\n", d, row.columns)[0]
		got := string(one.verdict.Code)
		if got == "" {
			got = ""
			for _, f := range one.reading.Fields {
				got += " " + f.Name + "=" + string(wire.AppendValue(nil, f.Value))
			}
			got = strings.TrimSpace(got)
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.row, got, row.want)
		}
	}
}
