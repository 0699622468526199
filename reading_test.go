package varve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
)

func fields(n int) []varve.Field {
	all := make([]varve.Field, n)
	for i := range all {
		all[i] = field(fmt.Sprintf("f%03d", i), varve.IntValue(int64(i)))
	}
	return all
}

func named(name string) func(*varve.Reading) {
	return func(r *varve.Reading) { r.Fields = []varve.Field{field(name, varve.IntValue(1))} }
}

func at(when time.Time) func(*varve.Reading) {
	return func(r *varve.Reading) { r.Time = when }
}

// sized returns a function that makes the size of a reading equal to total: 11 bytes for the id, 1
// for the name, and the rest for the value.
func sized(total int) func(*varve.Reading) {
	return func(r *varve.Reading) {
		r.Fields = []varve.Field{field("s", text(strings.Repeat("x", total-12)))}
	}
}

var normalizeVerdicts = []struct {
	reason string
	change func(*varve.Reading)
	code   varve.Code // "" if the reading is valid
	want   string     // a part of the message
}{
	{"a plain reading", func(*varve.Reading) {}, "", ""},
	{"no tenant", func(r *varve.Reading) { r.Tenant = "" }, varve.CodeStreamInvalid, "tenant is empty"},
	{"no stream", func(r *varve.Reading) { r.Stream = "" }, varve.CodeStreamInvalid, "stream is empty"},
	{"no device", func(r *varve.Reading) { r.Device = "" }, varve.CodeDeviceInvalid, "is empty"},
	{"a stream with a slash", func(r *varve.Reading) { r.Stream = "a/b" }, varve.CodeStreamInvalid, `"a/b"`},
	{"1970", at(time.Unix(0, 0)), "", ""},
	{"before 1970", at(time.Unix(0, -1)), varve.CodeTimeTooOld, "1969-12-31T23:59:59.999999999Z"},
	{"no time", at(time.Time{}), varve.CodeTimeTooOld, "before 1970"},
	{"the last nanosecond", at(time.Unix(0, varve.MaxTime-1)), "", ""},
	{"the nanosecond after it", at(time.Unix(0, varve.MaxTime)), varve.CodeTimeInFuture, "after 2262"},
	{"the year 9999", at(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), varve.CodeTimeInFuture, "9999-01-01"},
	{"no fields", func(r *varve.Reading) { r.Fields = nil }, varve.CodeFieldInvalid, "no fields"},
	{"256 fields", func(r *varve.Reading) { r.Fields = fields(256) }, "", ""},
	{"257 fields", func(r *varve.Reading) { r.Fields = fields(257) }, varve.CodeFieldInvalid, "257 fields, the limit is 256"},
	{"an empty name", named(""), varve.CodeFieldInvalid, "is empty"},
	{"a name of 128 bytes", named(strings.Repeat("n", 128)), "", ""},
	{"a name of 129 bytes", named(strings.Repeat("n", 129)), varve.CodeFieldInvalid, "129 bytes, the limit is 128"},
	{"65 characters of two bytes", named(strings.Repeat("é", 65)), varve.CodeFieldInvalid, "130 bytes"},
	{"a reserved name", named("_ttl"), varve.CodeFieldInvalid, "reserved"},
	{"an underscore alone", named("_"), varve.CodeFieldInvalid, "reserved"},
	{"a reserved name in other letters", named("_é"), varve.CodeFieldInvalid, "reserved"},
	{"an underscore inside", named("a_"), "", ""},
	{"a name with a blank", named("wind speed"), "", ""},
	{"a name with blanks around it", named(" wind"), varve.CodeFieldInvalid, "space around it"},
	{"a name with a line break", named("a\nb"), varve.CodeFieldInvalid, "cannot be printed"},
	{"a name that is not UTF-8", named("a\xff"), varve.CodeFieldInvalid, "UTF-8"},
	{"a name twice", func(r *varve.Reading) {
		r.Fields = []varve.Field{field("a", text("1")), field("b", text("1")), field("a", text("1"))}
	}, varve.CodeFieldInvalid, `field "a" occurs twice`},
	{"a field without a value", func(r *varve.Reading) { r.Fields = append(r.Fields, field("z", varve.Value{})) }, varve.CodeFieldInvalid, `"z" has no value`},
	{"64 KiB", sized(64 << 10), "", ""},
	{"64 KiB and a byte", sized(64<<10 + 1), varve.CodeTooLarge, "65537 bytes, the limit is 65536"},
	{"64 KiB, and an id longer than a hash", func(r *varve.Reading) {
		sized(64 << 10)(r)
		r.ID, _ = varve.ParseID("twelve bytes")
	}, varve.CodeTooLarge, "65537 bytes"},
	{"64 KiB in many fields", func(r *varve.Reading) {
		r.Fields = fields(256)
		for i := range r.Fields {
			r.Fields[i].Value = text(strings.Repeat("x", 252))
		}
	}, varve.CodeTooLarge, "65547 bytes"},
}

// TestNormalize_RejectsInvalidReadings checks readings just inside and just outside of each
// limit, and the code of each rejection.
func TestNormalize_RejectsInvalidReadings(t *testing.T) {
	for _, tt := range normalizeVerdicts {
		t.Run(tt.reason, func(t *testing.T) {
			r := reading(t, "temperature", "22.40")
			tt.change(&r)
			v := r.Normalize()
			if v.Code != tt.code || (v.Outcome == varve.Rejected) != (tt.code != "") || !strings.Contains(v.Message, tt.want) {
				t.Fatalf("got %s, want %q with %q in its message", v, tt.code, tt.want)
			}
			if tt.code == "" && (v != varve.Verdict{} || r.ID.IsZero()) {
				t.Errorf("got %s and the id %q", v, r.ID)
			}
		})
	}
}

// TestNormalize_KeepsMessagesShort checks that a rejection of long input has a short message.
func TestNormalize_KeepsMessagesShort(t *testing.T) {
	r := reading(t, strings.Repeat("n", 60_000), "1")
	if v := r.Normalize(); v.Outcome != varve.Rejected || len(v.Message) > 200 {
		t.Errorf("a message of %d bytes: %.300s", len(v.Message), v.Message)
	}
}

// TestNormalize_SortsFieldsAndConvertsTimes checks the order of fields, the conversion of times,
// and that the client's id and the scale of numbers do not change. A second call must change nothing.
func TestNormalize_SortsFieldsAndConvertsTimes(t *testing.T) {
	zone := time.FixedZone("east", 2*60*60)
	r := varve.Reading{
		Series: sensor, Time: time.Date(2026, 4, 20, 14, 0, 0, 123_456_789, zone), Arrived: time.Date(2026, 4, 20, 14, 0, 1, 999_999_999, zone),
		Fields: []varve.Field{field("b", num(t, "1.50")), field("a", text("x")), field("aa", varve.BoolValue(true)), field("B", num(t, "2"))},
	}
	r.ID, _ = varve.ParseID("mine")
	if v := r.Normalize(); v != (varve.Verdict{}) {
		t.Fatal(v)
	}
	var names []string
	for _, f := range r.Fields {
		names = append(names, f.Name)
	}
	if want := []string{"B", "a", "aa", "b"}; !slices.Equal(names, want) {
		t.Errorf("fields %v, want %v", names, want)
	}
	if got := r.Field("b").String(); got != "1.50" {
		t.Errorf("1.50 became %s", got)
	}
	if want := time.Date(2026, 4, 20, 12, 0, 0, 123_456_789, time.UTC); r.Time != want {
		t.Errorf("time %s, want %s", r.Time, want)
	}
	if want := time.Date(2026, 4, 20, 12, 0, 1, 999_000_000, time.UTC); r.Arrived != want {
		t.Errorf("arrived %s, want %s", r.Arrived, want)
	}
	if r.ID.String() != "mine" {
		t.Errorf("the client's id became %s", r.ID)
	}
	again := r.Clone()
	if v := again.Normalize(); v != (varve.Verdict{}) || !again.Equal(&r) {
		t.Errorf("normalized again: %s, %v, want %v", v, again, r)
	}
}

func TestReading_FindsField(t *testing.T) {
	r := reading(t, "b", "1")
	r.Fields = append(r.Fields, field("d", text("x")))
	for name, want := range map[string]string{"a": "", "b": "1", "c": "", "d": "x", "e": "", "": ""} {
		if v := r.Field(name); v.String() != want || v.IsZero() != (want == "") {
			t.Errorf("field %q is %s, want %q", name, v, want)
		}
	}
}

// TestReading_SizeCountsIDNamesAndValues checks that Size counts the bytes of the id, the names
// and the values.
func TestReading_SizeCountsIDNamesAndValues(t *testing.T) {
	r := varve.Reading{Series: sensor, Time: noon, Fields: []varve.Field{
		field("num", num(t, "-22.40")), field("zero", num(t, "0")), field("text", text("é")),
		field("yes", varve.BoolValue(true)), field("json", jsonValue(t, `{ "a": 1 }`)),
	}}
	const want = 11 + (3 + 1 + 3) + (4 + 1) + (4 + 2) + (3 + 1) + (4 + 7)
	if got := r.Size(); got != want {
		t.Errorf("size %d, want %d", got, want)
	}
	before := r.Size()
	r.Normalize()
	if r.Size() != before {
		t.Errorf("size %d before the id, %d with it", before, r.Size())
	}
	short := varve.Reading{Fields: []varve.Field{field("n", num(t, "1e40"))}}
	long := varve.Reading{Fields: []varve.Field{field("n", num(t, "1"+strings.Repeat("0", 40)))}}
	if short.Size() != 11+1+2 || long.Size() != 11+1+2 {
		t.Errorf("1e40 has size %d, and its 41 digits %d, want 14", short.Size(), long.Size())
	}
}

func TestReading_CloneIsEqualAndIndependent(t *testing.T) {
	base := reading(t, "a", "1.0")
	base.Arrived = noon
	base.Normalize()
	same := base.Clone()
	same.Fields[0].Value = num(t, "1")
	same.Time = same.Time.In(time.FixedZone("", 3600))
	if !base.Equal(&same) {
		t.Error("1.0 and 1, at one instant in two zones: not equal")
	}
	for reason, change := range map[string]func(*varve.Reading){
		"tenant":  func(r *varve.Reading) { r.Tenant = "x" },
		"stream":  func(r *varve.Reading) { r.Stream = "x" },
		"device":  func(r *varve.Reading) { r.Device = "x" },
		"time":    func(r *varve.Reading) { r.Time = r.Time.Add(1) },
		"arrival": func(r *varve.Reading) { r.Arrived = r.Arrived.Add(time.Millisecond) },
		"id":      func(r *varve.Reading) { r.ID = varve.HashID(1) },
		"name":    func(r *varve.Reading) { r.Fields[0].Name = "x" },
		"value":   func(r *varve.Reading) { r.Fields[0].Value = text("1.0") },
		"fields":  func(r *varve.Reading) { r.Fields = append(r.Fields, field("x", text("x"))) },
	} {
		other := base.Clone()
		change(&other)
		if base.Equal(&other) || other.Equal(&base) {
			t.Errorf("another %s, and equal", reason)
		}
		if base.Fields[0].Name != "a" || base.Field("a").Kind() != varve.KindNumber {
			t.Fatalf("a change of a clone's %s changed the original", reason)
		}
	}
	if got, want := base.String(), "acme/weather/sensor_01@2026-04-20T12:00:00Z#"+base.ID.String(); got != want {
		t.Errorf("written %s, want %s", got, want)
	}
}
