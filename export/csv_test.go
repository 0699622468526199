package export

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutput_JoinsColumnsOfAnswers adds answers of three devices with different columns to one file. The
// columns of the fields must be sorted by name. Versions must get a column, and cells must keep their line
// breaks and commas.
func TestOutput_JoinsColumnsOfAnswers(t *testing.T) {
	o := output{format: CSV, path: filepath.Join(t.TempDir(), "weather-000001.csv")}
	for _, answer := range []struct{ device, text string }{
		{"d,1", "time,id,arrived,b,fields.time\r\nt1,i1,a1,\"x\r\n\"\"y\"\",z\",5\r\n"},
		{"d2", "time,id,arrived,c\r\n"}, // an answer without rows
		{"d2", "time,id,_version,arrived,\"a,b\",fields.b,fields.time\r\nt2,i2,,a2,1,9,\r\nt2,i2,1,a3,2,,7\r\n"},
		{"d3", "time,id,_strings,arrived,b\r\nt3,i3,\"[\"\"b\"\"]\",a4,12\r\n"},
	} {
		if err := o.addText([]byte(answer.text), answer.device); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := o.close(); !written || err != nil {
		t.Fatal(written, err)
	}
	got, err := os.ReadFile(o.path)
	want := "device,time,id,_version,_strings,arrived,\"a,b\",b,fields.b,fields.time\r\n" +
		"\"d,1\",t1,i1,,,a1,,\"x\r\n\"\"y\"\",z\",,5\r\n" +
		"d2,t2,i2,,,a2,1,,9,\r\n" +
		"d2,t2,i2,1,,a3,2,,,7\r\n" +
		"d3,t3,i3,,\"[\"\"b\"\"]\",a4,,12,,\r\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	if o.n != 4 || o.bytes != int64(len(want)) {
		t.Errorf("%d readings, %d bytes", o.n, o.bytes)
	}
	if err := o.addText([]byte("oops\r\n"), "d1"); err == nil || !strings.Contains(err.Error(), "unknown header") {
		t.Errorf("a text that is not an answer: %v", err)
	}
}

// TestOutput_InsertsDeviceInLines adds answers in NDJSON to one file. An answer whose last line has no end
// must be refused, and nothing of it may be added.
func TestOutput_InsertsDeviceInLines(t *testing.T) {
	o := output{format: NDJSON, path: filepath.Join(t.TempDir(), "weather-000001.ndjson")}
	for _, answer := range []struct{ device, text string }{
		{"d\"1", `{"time":"t1"}` + "\n" + `{"time":"t2"}` + "\n"},
		{"d2", ""},
		{"", `{"device":"d3","time":"t3"}` + "\n"},
	} {
		if err := o.addText([]byte(answer.text), answer.device); err != nil {
			t.Fatal(err)
		}
	}
	for _, device := range []string{"d1", ""} {
		if err := o.addText([]byte(`{"time":"t4"}`+"\n"+`{"time":"t5"`), device); !errors.Is(err, errIncomplete) {
			t.Errorf("device %q: a cut line: %v", device, err)
		}
	}
	if written, err := o.close(); !written || err != nil {
		t.Fatal(written, err)
	}
	got, err := os.ReadFile(o.path)
	want := `{"device":"d\"1","time":"t1"}` + "\n" + `{"device":"d\"1","time":"t2"}` + "\n" + `{"device":"d3","time":"t3"}` + "\n"
	if err != nil || string(got) != want || o.n != 3 || o.bytes != int64(len(want)) {
		t.Errorf("%v, %d readings\n%s\nwant\n%s", err, o.n, got, want)
	}
}
