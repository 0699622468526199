package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// badObject is valid JSON that is not a valid reading.
type badObject struct {
	why    string
	object string
	code   varve.Code
	says   string // a part of the message with which the object is rejected
}

var badObjects = []badObject{
	{"nothing in it", `{}`, varve.CodeTimeMissing, "time"},
	{"no time", `{"device":"d1","fields":{"a":1}}`, varve.CodeTimeMissing, "time"},
	{"time is null", `{"device":"d1","time":null,"fields":{"a":1}}`, varve.CodeTimeMissing, "null"},
	{"time is empty", `{"device":"d1","time":"","fields":{"a":1}}`, varve.CodeTimeMissing, "empty"},
	{"time is a boolean", `{"device":"d1","time":true,"fields":{"a":1}}`, varve.CodeTimeInvalid, "neither"},
	{"time is an object", `{"device":"d1","time":{"s":1},"fields":{"a":1}}`, varve.CodeTimeInvalid, "neither"},
	{"time is a word", `{"device":"d1","time":"yesterday","fields":{"a":1}}`, varve.CodeTimeInvalid, "yesterday"},
	{"time in seconds", `{"device":"d1","time":1475001526,"fields":{"a":1}}`, varve.CodeTimeUnit, "looks like seconds"},
	{"time before 1970", `{"device":"d1","time":"1969-12-31T23:59:59Z","fields":{"a":1}}`, varve.CodeTimeTooOld, "1970"},
	{"no device", `{"time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "device"},
	{"device is empty", `{"device":"","time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "empty"},
	{"device is a number", `{"device":7,"time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "string"},
	{"device is null", `{"device":null,"time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "string"},
	{"device of 257 bytes", `{"device":"` + repeat("d", 257) + `","time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "257"},
	{"device with a line feed", `{"device":"a\nb","time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "printed"},
	{"device with space around", `{"device":" d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "space"},
	{"id is a number", `{"id":7,"device":"d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeIDInvalid, "string"},
	{"id is empty", `{"id":"","device":"d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeIDInvalid, "empty"},
	{"id of 65 bytes", `{"id":"` + repeat("i", 65) + `","device":"d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeIDInvalid, "65"},
	{"no fields", `{"device":"d1","time":1475001526000}`, varve.CodeFieldInvalid, "no fields"},
	{"fields are empty", object(`{}`), varve.CodeFieldInvalid, "no fields"},
	{"only null fields", object(`{"a":null}`), varve.CodeFieldInvalid, "no fields"},
	{"fields are an array", object(`[1]`), varve.CodeFieldInvalid, "object"},
	{"fields are null", object(`null`), varve.CodeFieldInvalid, "object"},
	{"39 digits", object(`{"a":123456789012345678901234567890123456789}`), varve.CodeFieldInvalid, "38 significant"},
	{"39 digits behind the point", object(`{"a":0.123456789012345678901234567890123456789}`), varve.CodeFieldInvalid, "38 significant"},
	{"too large a number", object(`{"a":1e126}`), varve.CodeFieldInvalid, "outside"},
	{"too small a number", object(`{"a":1e-131}`), varve.CodeFieldInvalid, "outside"},
	{"an exponent of many digits", object(`{"a":1e999999999999999999999}`), varve.CodeFieldInvalid, "outside"},
	{"a number in metadata out of range", object(`{"a":{"b":1e999}}`), varve.CodeFieldInvalid, "outside"},
	{"a text that is not UTF-8", object("{\"a\":\"\xff\"}"), varve.CodeFieldInvalid, "UTF-8"},
	{"metadata that is not UTF-8", object("{\"a\":[\"\xff\"]}"), varve.CodeFieldInvalid, "UTF-8"},
	{"a field name that is not UTF-8", object("{\"\xff\":1}"), varve.CodeFieldInvalid, "UTF-8"},
	{"a device that is not UTF-8", `{"device":"` + "\xff" + `","time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "UTF-8"},
	{"an id that is not UTF-8", `{"id":"` + "\xff" + `","device":"d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeIDInvalid, "UTF-8"},
	{"half a surrogate pair in a text", object(`{"a":"x\ud800y"}`), varve.CodeFieldInvalid, "surrogate"},
	{"the other half", object(`{"a":"\udc00"}`), varve.CodeFieldInvalid, "surrogate"},
	{"two first halves", object(`{"a":"\ud83d\ud83d\ude00"}`), varve.CodeFieldInvalid, "surrogate"},
	{"half a pair at the end", object(`{"a":"\\\ud800"}`), varve.CodeFieldInvalid, "surrogate"},
	{"half a pair in a field name", object(`{"\uD800":1}`), varve.CodeFieldInvalid, "surrogate"},
	{"half a pair in metadata", object(`{"a":["\ud800"]}`), varve.CodeFieldInvalid, "surrogate"},
	{"half a pair in a name in metadata", object(`{"a":{"\ud800":1}}`), varve.CodeFieldInvalid, "surrogate"},
	{"half a pair in the device", `{"device":"\ud800","time":1475001526000,"fields":{"a":1}}`, varve.CodeDeviceInvalid, "surrogate"},
	{"half a pair in the id", `{"id":"\ud800","device":"d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeIDInvalid, "surrogate"},
	{"half a pair in what is skipped", `{"arrived":"\ud800","device":"d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeMalformed, "surrogate"},
	{"a field twice", object(`{"a":1,"b":2,"a":1}`), varve.CodeFieldInvalid, "twice"},
	{"a member of metadata twice", object(`{"a":{"b":1,"b":2}}`), varve.CodeFieldInvalid, "twice"},
	{"metadata nested 17 deep", object(`{"a":` + repeat("[", 17) + repeat("]", 17) + `}`), varve.CodeFieldInvalid, "16"},
	{"a field without a name", object(`{"":1}`), varve.CodeFieldInvalid, "empty"},
	{"a reserved field name", object(`{"_at":1}`), varve.CodeFieldInvalid, "reserved"},
	{"a field name of 129 bytes", object(`{"` + repeat("n", 129) + `":1}`), varve.CodeFieldInvalid, "129"},
	{"257 fields", object(manyFields(257)), varve.CodeFieldInvalid, "257"},
	{"70 KiB", object(`{"a":"` + repeat("x", 70<<10) + `"}`), varve.CodeTooLarge, "65536"},
	{"a value outside of fields", `{"device":"d1","time":1475001526000,"temperature":22.4,"fields":{"a":1}}`, varve.CodeMalformed, "fields"},
	{"time twice", `{"device":"d1","time":1475001526000,"time":1475001526000,"fields":{"a":1}}`, varve.CodeMalformed, "twice"},
	{"device twice", `{"device":"d1","device":"d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeMalformed, "twice"},
	{"id twice", `{"id":"x","id":"x","device":"d1","time":1475001526000,"fields":{"a":1}}`, varve.CodeMalformed, "twice"},
	{"fields twice", `{"device":"d1","time":1475001526000,"fields":{"a":1},"fields":{"a":1}}`, varve.CodeMalformed, "twice"},
}

func manyFields(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`"f%d":%d`, i, i))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// TestReader_RejectsBadObjects checks the code and the line of the verdict for each invalid reading, in
// NDJSON and in several bodies of JSON. The readings around it must be accepted.
func TestReader_RejectsBadObjects(t *testing.T) {
	for _, bad := range badObjects {
		word := string(bad.code)
		forms := []struct {
			format     wire.Format
			body, want string
		}{
			{wire.NDJSON, good + "\n" + bad.object + "\n" + good, "1:ok 2:" + word + " 3:ok"},
			{wire.JSON, "[" + good + "," + bad.object + "," + good + "]", "0:ok 0:" + word + " 0:ok"},
			{wire.JSON, bad.object, "0:" + word},
			{wire.JSON, good + "\n" + bad.object + "\n" + good, "1:ok 2:" + word + " 3:ok"},
		}
		for _, form := range forms {
			all := mustRead(t, form.format, form.body)
			checkMessages(t, all)
			if got := codes(all); got != form.want {
				t.Errorf("%s, %s: %s, want %s", bad.why, form.format, got, form.want)
				continue
			}
			for _, o := range all {
				if o.verdict.Code == bad.code && !strings.Contains(o.verdict.Message, bad.says) {
					t.Errorf("%s: %q does not say %q", bad.why, o.verdict.Message, bad.says)
				}
			}
		}
	}
}

func TestReader_AcceptsUnusualObjects(t *testing.T) {
	rows := []struct{ why, object, fields string }{
		{"a null field among others", object(`{"a":1,"b":null}`), "a=number(1)"},
		{"arrived is skipped, whatever it is", `{"device":"d1","time":1475001526000,"arrived":[1],"fields":{"a":1}}`, "a=number(1)"},
		{"time as a string of digits", `{"device":"d1","time":"1475001526000","fields":{"a":1}}`, "a=number(1)"},
		{"escaped member names", `{"\u0064evice":"d1","time":1475001526000,"fields":{"\u0061":1}}`, "a=number(1)"},
		{"256 fields", object(manyFields(256)), ""},
		{"metadata nested 16 deep", object(`{"a":` + repeat("[", 16) + repeat("]", 16) + `}`), "a=JSON([[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]])"},
		{"an empty string", object(`{"a":""}`), "a=string()"},
		{"a device of 256 bytes", `{"device":"` + repeat("d", 256) + `","time":1475001526000,"fields":{"a":1}}`, "a=number(1)"},
		{"a device with slashes and colons", `{"device":"arn:aws/x y","time":1475001526000,"fields":{"a":1}}`, "a=number(1)"},
		{"blanks everywhere", " { \"device\" : \"d1\" ,\t\"time\" : 1475001526000 , \"fields\" : { \"a\" : 1 } } ", "a=number(1)"},
	}
	for _, row := range rows {
		for _, f := range []wire.Format{wire.NDJSON, wire.JSON} {
			all := mustRead(t, f, row.object)
			if len(all) != 1 || all[0].verdict.Outcome != 0 {
				t.Errorf("%s, %s: %v %s", row.why, f, codes(all), all[0].verdict)
			} else if got := fields(&all[0].reading); row.fields != "" && got != row.fields {
				t.Errorf("%s, %s: %s, want %s", row.why, f, got, row.fields)
			}
		}
	}
}

// TestReader_AppliesDefaultDevice checks that the device of the request applies only to readings
// without a device.
func TestReader_AppliesDefaultDevice(t *testing.T) {
	d := defaults()
	d.Device = "all"
	body := `{"time":1475001526000,"fields":{"a":1}}` + "\n" + good + "\n" + `{"device":"","time":1475001526000,"fields":{"a":1}}`
	all, err := drain(new(wire.Memory), new(wire.Batch), wire.NDJSON, strings.NewReader(body), d, wire.Columns{})
	if err != nil || codes(all) != "1:ok 2:ok 3:device_invalid" {
		t.Fatal(codes(all), err)
	}
	if all[0].reading.Device != "all" || all[1].reading.Device != "d1" {
		t.Error(all)
	}
	rows := readCSV(t, header+"1475001526000,,1\n"+goodRow, d, wire.Columns{})
	if codes(rows) != "2:ok 3:ok" || rows[0].reading.Device != "all" || rows[1].reading.Device != "d1" {
		t.Error(codes(rows), rows)
	}
}
