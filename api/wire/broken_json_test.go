package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

var brokenLines = []struct {
	why, line string
	code      varve.Code
	says      string
}{
	{"cut short in the device", `{"device":"d`, varve.CodeMalformed, ""},
	{"cut short behind a value", `{"device":"d1","time":1475001526000,"fields":{"a":1`, varve.CodeMalformed, ""},
	{"cut short, with Inf inside a name", `{"device":"d1","time":1475001526000,"fields":{"deviceInfo":"x"`, varve.CodeMalformed, "EOF"},
	{"cut short, with NaN inside a name", `{"device":"MyNaN","time":1475001526000,"fields":{"a":1`, varve.CodeMalformed, "EOF"},
	{"a word", `hello`, varve.CodeMalformed, ""},
	{"a blank that is not JSON's", "\u00a0", varve.CodeMalformed, ""},
	{"a number", `1475001526000`, varve.CodeMalformed, ""},
	{"a string", `"d1"`, varve.CodeMalformed, ""},
	{"null", `null`, varve.CodeMalformed, ""},
	{"an array", `[` + good + `]`, varve.CodeMalformed, ""},
	{"a row of CSV", goodRow, varve.CodeMalformed, ""},
	{"two objects", good + good, varve.CodeMalformed, "more follows"},
	{"a word behind the object", good + "x", varve.CodeMalformed, "more follows"},
	{"a brace too many", good + "}", varve.CodeMalformed, "more follows"},
	{"no quotes", `{device:"d1"}`, varve.CodeMalformed, ""},
	{"single quotes", `{'device':'d1'}`, varve.CodeMalformed, ""},
	{"a comma too many", `{"device":"d1","time":1475001526000,"fields":{"a":1},}`, varve.CodeMalformed, ""},
	{"a leading zero", object(`{"a":01}`), varve.CodeMalformed, ""},
	{"a plus", object(`{"a":+1}`), varve.CodeMalformed, ""},
	{"no digit before the point", object(`{"a":.5}`), varve.CodeMalformed, ""},
	{"no digit behind the point", object(`{"a":5.}`), varve.CodeMalformed, ""},
	{"hexadecimal", object(`{"a":0x1F}`), varve.CodeMalformed, ""},
	{"a tab in a string", object("{\"a\":\"\t\"}"), varve.CodeMalformed, ""},
	{"nested beyond what a decoder takes", object(`{"a":` + repeat("[", 20000) + repeat("]", 20000) + `}`), varve.CodeMalformed, ""},
	{"NaN", object(`{"a":NaN}`), varve.CodeFieldInvalid, "NaN"},
	{"Infinity", object(`{"a":Infinity}`), varve.CodeFieldInvalid, "Infinity"},
	{"minus Infinity", object(`{"a":-Infinity}`), varve.CodeFieldInvalid, "Infinity"},
	{"NaN in metadata", object(`{"a":{"b":[NaN]}}`), varve.CodeFieldInvalid, "NaN"},
	{"NaN, and a string that begins so", object(`{"a":NaN,"b":"NaN"}`), varve.CodeFieldInvalid, "NaN"},
}

// TestNDJSON_RejectsBrokenLines checks that a broken line is one rejected reading, and that the
// next line is read.
func TestNDJSON_RejectsBrokenLines(t *testing.T) {
	for _, broken := range brokenLines {
		all := mustRead(t, wire.NDJSON, good+"\n"+broken.line+"\n"+good+"\n")
		checkMessages(t, all)
		if got, want := codes(all), "1:ok 2:"+string(broken.code)+" 3:ok"; got != want {
			t.Errorf("%s: %s, want %s", broken.why, got, want)
		} else if !strings.Contains(all[1].verdict.Message, broken.says) {
			t.Errorf("%s: %q does not say %q", broken.why, all[1].verdict.Message, broken.says)
		}
	}
}

// TestJSON_RejectsNaN checks that NaN in an array rejects only its own reading. Many programs
// write NaN.
func TestJSON_RejectsNaN(t *testing.T) {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		all := mustRead(t, wire.JSON, "["+good+","+object(`{"a":`+word+`}`)+","+good+"]")
		if got := codes(all); got != "0:ok 0:field_invalid 0:ok" {
			t.Errorf("%s between two good readings: %s", word, got)
		}
		one, err := read(wire.JSON, object(`{"a":`+word+`}`))
		if got := codes(one); got != "0:field_invalid" || err != nil {
			t.Errorf("%s in the only reading: %s, %v", word, got, err)
		}
	}
}

// TestJSON_KeepsReadingsBeforeBreak checks that the elements before broken JSON are valid. If the reader
// cannot find the next element, the rest is one malformed reading.
func TestJSON_KeepsReadingsBeforeBreak(t *testing.T) {
	rows := []struct{ why, body, want string }{
		{"ends in the second reading", "[" + good + "," + good[:30], "0:ok 0:malformed"},
		{"ends behind a comma", "[" + good + ",", "0:ok 0:malformed"},
		{"a comma before the end", "[" + good + ",]", "0:ok 0:malformed"},
		{"no comma", "[" + good + " " + good + "]", "0:ok 0:malformed"},
		{"garbage between", "[" + good + ",x," + good + "]", "0:ok 0:malformed 0:ok"},
		{"a broken object between", "[" + good + `,{"device":"d1",,},` + good + "]", "0:ok 0:malformed 0:ok"},
		{"a tab in a string between", "[" + good + ",{\"device\":\"a\tb\"}," + good + "]", "0:ok 0:malformed 0:ok"},
		{"a quote that is not closed", "[" + good + `,{"device":"d1},` + good + "]", "0:ok 0:malformed"},
		{"a line break in a string", "[" + good + ",{\"device\":\"d\n1\"}," + good + "]", "0:ok 0:malformed"},
		{"brackets in strings", `[{"device":"]}[{","time":1475001526000,"fields":{"a":"\"]"}},` + good + "]", "0:ok 0:ok"},
		{"an element over the limit", "[" + good + "," + object(`{"a":"`+repeat("x", 300<<10)+`"}`) + "," + good + "]", "0:ok 0:too_large 0:ok"},
		{"a comma first, later", "[" + good + ",," + good + "]", "0:ok 0:malformed"},
		{"a byte order mark", "\ufeff[" + good + "]", "0:ok"},
		{"two arrays", "[" + good + "][" + good + "]", "0:ok 0:malformed"},
		{"no elements at all", "[]", ""},
		{"elements that are no objects", `[1,"x",null,[],true]`, "0:malformed 0:malformed 0:malformed 0:malformed 0:malformed"},
	}
	for _, row := range rows {
		all := mustRead(t, wire.JSON, row.body)
		checkMessages(t, all)
		if got := codes(all); got != row.want {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}

// TestReader_ReturnsBodyError checks the error for bodies that contain no readable reading.
func TestReader_ReturnsBodyError(t *testing.T) {
	rows := []struct {
		why    string
		format wire.Format
		body   string
		says   string
	}{
		{"nothing", wire.JSON, "", "empty"},
		{"blanks", wire.JSON, " \n\t ", "empty"},
		{"a word", wire.JSON, "hello", "Content-Type"},
		{"CSV sent as JSON", wire.JSON, header + goodRow, "Content-Type"},
		{"a cut-off object", wire.JSON, good[:40], "JSON object"},
		{"a cut-off array", wire.JSON, "[" + good[:40], "JSON array"},
		{"an array that is only opened", wire.JSON, "[", "JSON array"},
		{"something behind the object", wire.JSON, good + " x", "follows"},
		{"a comma first", wire.JSON, "[," + good + "]", "JSON array"},
		{"a brace behind the object", wire.JSON, good + "}", "follows"},
		{"no header", wire.CSV, "", "empty"},
		{"blank lines for a header", wire.CSV, "\n \r\n\n", "empty"},
	}
	for _, row := range rows {
		all, err := read(row.format, row.body)
		var body *wire.BodyError
		if !errors.As(err, &body) {
			t.Errorf("%s: error %v and %q, want a BodyError", row.why, err, codes(all))
		} else if !strings.Contains(body.Message, row.says) || len(body.Message) > maxMessage {
			t.Errorf("%s: %.300q does not say %q", row.why, body.Message, row.says)
		}
		for _, o := range all {
			if o.verdict.Outcome != varve.Rejected {
				t.Errorf("%s: a reading was taken", row.why)
			}
		}
	}
}

// TestJSON_ReadsLinesOfObjects checks that lines of objects are recognized under the media type
// of JSON, and keep their line numbers.
func TestJSON_ReadsLinesOfObjects(t *testing.T) {
	rows := []struct{ why, body, want string }{
		{"two", good + "\n" + good + "\n", "1:ok 2:ok"},
		{"a bad one later", good + "\n" + good + "\nx\n" + good, "1:ok 2:ok 3:malformed 4:ok"},
		{"a bad one second", good + "\nx\n" + good, "1:ok 2:malformed 3:ok"},
		{"a bad one first", object(`{"a":NaN}`) + "\n" + good, "1:field_invalid 2:ok"},
		{"the first cut short", good[:20] + "\n\n" + good + "\n", "1:malformed 3:ok"},
		{"a byte order mark", "\ufeff" + good + "\n\ufeff" + good, "1:ok 2:ok"},
		{"blank lines first", "\n\n" + good + "\n" + good, "3:ok 4:ok"},
		{"one object over lines", strings.ReplaceAll(good, ",", ",\n"), "0:ok"},
	}
	for _, row := range rows {
		all, err := read(wire.JSON, row.body)
		if got := codes(all); got != row.want || err != nil {
			t.Errorf("%s: %s, want %s (%v)", row.why, got, row.want, err)
		}
	}
}

// TestMessages_NameRemedies checks the messages for two common mistakes with curl: -d instead of
// --data-binary, and CSV without a Content-Type.
func TestMessages_NameRemedies(t *testing.T) {
	read := func(f wire.Format, body string) (*wire.Batch, error) {
		t.Helper()
		r, err := wire.NewReader(new(wire.Memory), f, strings.NewReader(body), defaults(), wire.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		var b wire.Batch
		return &b, r.Read(&b)
	}
	joined := repeat(`{"device":"d1","time":1475001526000,"fields":{"a":1}}`, 2)
	if b, _ := read(wire.NDJSON, joined); b.Len() != 1 || !strings.Contains(b.Verdicts[0].Message, "--data-binary") {
		t.Errorf("joined lines: %v", b.Verdicts)
	}
	if _, err := read(wire.JSON, "time,device,a\n1475001526000,d1,1\n"); err == nil || !strings.Contains(err.Error(), "format=csv") {
		t.Errorf("CSV as JSON: %v", err)
	}
}
