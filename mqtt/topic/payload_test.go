package topic_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/mqtt/topic"
)

var arrival = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// deliver returns the readings of a message as text, one per line. A rejected message or reading
// appears as its verdict.
func deliver(t *testing.T, table topic.Table, m topic.Message) string {
	t.Helper()
	d, err := table.Resolve(&m)
	if err != nil {
		var u *topic.Unreadable
		if errors.As(err, &u) {
			return u.Verdict.String()
		}
		return err.Error()
	}
	if d.ArrivalIsTime {
		d.Defaults.Arrival = arrival
	}
	d.Defaults.Now = func() time.Time { return arrival }
	reader, err := wire.NewReader(new(wire.Memory), d.Format, strings.NewReader(string(d.Body)), d.Defaults, d.Columns)
	if err != nil {
		t.Fatal(err)
	}
	var batch wire.Batch
	if err := reader.Read(&batch); err != nil && !errors.Is(err, io.EOF) {
		return "error: " + err.Error()
	}
	var lines []string
	for i := range batch.Readings {
		r, v := &batch.Readings[i], &batch.Verdicts[i]
		if v.Outcome != 0 {
			lines = append(lines, v.String())
			continue
		}
		var fields []string
		for _, f := range r.Fields {
			fields = append(fields, f.Name+"="+string(wire.AppendValue(nil, f.Value)))
		}
		lines = append(lines, r.Stream+" "+r.Device+" "+r.Time.Format(time.RFC3339)+" "+strings.Join(fields, " "))
	}
	return strings.Join(lines, "\n")
}

func compile(t *testing.T, rules ...topic.Rule) (table topic.Table) {
	t.Helper()
	for _, r := range rules {
		route, err := r.Compile()
		if err != nil {
			t.Fatal(err)
		}
		table = append(table, route)
	}
	return table
}

// nest returns an object in a number of others, each as their property a.
func nest(object string, levels int) string {
	return strings.Repeat(`{"a":`, levels) + object + strings.Repeat("}", levels)
}

func TestResolve_ConvertsPayloads(t *testing.T) {
	const at = "2026-11-20T10:00:00Z"
	both := topic.Rule{Pattern: "s/{stream}/{device}"}
	kind := func(name string) topic.Rule {
		r := both
		r.Payload = name
		return r
	}
	value := topic.Rule{Pattern: "s/{stream}/{device}/{field}", Payload: "value"}
	columns := kind("csv")
	columns.Columns = "time,a"
	required := both
	required.Time = "required"
	for _, c := range []struct {
		name, topic, payload, want string
		rule                       topic.Rule
	}{
		{"reading", "s/w/d1", `{"time":"` + at + `","fields":{"a":1.50}}`, "w d1 " + at + " a=1.50", both},
		{"reading with a device", "s/w/d1", `{"device":"d2","time":"` + at + `","fields":{"a":1}}`, "w d2 " + at + " a=1", both},
		{"array", "s/w/d1", `[{"time":"` + at + `","fields":{"a":1}},{"fields":{"a":2}}]`, "w d1 " + at + " a=1\nw d1 2026-11-22T12:00:00Z a=2", both},
		{"flat", "s/w/d1", `{"a":1,"b":true}`, "w d1 2026-11-22T12:00:00Z a=1 b=true", both},
		{"flat with a field named fields", "s/w/d1", `{"fields":3}`, "w d1 2026-11-22T12:00:00Z fields=3", both},
		{"flat array", "s/w/d1", `[{"a":1},{"a":2}]`, "w d1 2026-11-22T12:00:00Z a=1\nw d1 2026-11-22T12:00:00Z a=2", both},
		{"no time", "s/w/d1", `{"a":1}`, `rejected(time_missing: "time" is missing: send it, or set time=arrival)`, required},
		{"empty", "s/w/d1", " ", "rejected(malformed: the payload is empty: send a reading as JSON)", both},
		{"bad stream", "s/-/d1", `{"a":1}`, `rejected(stream_invalid: stream "-": use letters, digits, . _ - and begin with a letter or digit)`, both},
		{"unmatched", "x/w/d1", `{"a":1}`, "no pattern matches the topic", both},
		{"nested", "s/w/d1", `{"time":"` + at + `","ENERGY":{"Power":3,"Sum":{"day":4}},"list":[1,2]}`, "w d1 " + at + " ENERGY.Power=3 ENERGY.Sum.day=4 list=[1,2]", kind("flatten")},
		{"nested, no object", "s/w/d1", `[1]`, "rejected(malformed: the payload is not a JSON object with the fields: see fields_at)", kind("flatten")},
		{"nested, empty", "s/w/d1", `{"a":{},"b":{"c":1}}`, "w d1 2026-11-22T12:00:00Z b.c=1", kind("flatten")},
		{"nested, long name", "s/w/d1", nest(`{"b":1}`, 63), "w d1 2026-11-22T12:00:00Z " + strings.Repeat("a.", 63) + "b=1", kind("flatten")},
		{"nested too deep", "s/w/d1", nest(`{"b":1}`, 5000), "rejected(malformed: the name of a nested field has more than 128 bytes: use fewer levels or shorter names)", kind("flatten")},
		{"number", "s/w/d1/temp", " 22.50 ", "w d1 2026-11-22T12:00:00Z temp=22.50", value},
		{"boolean", "s/w/d1/open", "true", "w d1 2026-11-22T12:00:00Z open=true", value},
		{"string", "s/w/d1/state", `"on"`, `w d1 2026-11-22T12:00:00Z state="on"`, value},
		{"word", "s/w/d1/state", "on", "rejected(malformed: the payload is not a value: send a number, true, false or a string in quotes)", value},
		{"two values", "s/w/d1/a", "1 2", "rejected(malformed: the payload is not one value: send a number, true, false or a string in quotes)", value},
		{"csv", "s/w/d1", "time,a\n" + at + ",7\n", "w d1 " + at + " a=7", kind("csv")},
		{"csv without a header", "s/w/d1", at + ",7\n", "w d1 " + at + " a=7", columns},
		{"line", "l/d1", "weather,device=d9 a=1 1795000000000000000\nrain,device=d9 b=2", "weather d9 2026-11-18T11:06:40Z a=1\nrain d9 2026-11-22T12:00:00Z b=2", topic.Rule{Pattern: "l/{_}", Payload: "line"}},
	} {
		if got := deliver(t, compile(t, c.rule), topic.Message{Topic: c.topic, Payload: []byte(c.payload)}); got != c.want {
			t.Errorf("%s: %s on %s\n got %s\nwant %s", c.name, c.payload, c.topic, got, c.want)
		}
	}
}

// TestPresets_ReadMessagesOfDevices checks messages as the devices of each preset send them.
func TestPresets_ReadMessagesOfDevices(t *testing.T) {
	for _, c := range []struct{ preset, topic, payload, want string }{
		{"thingsboard", "v1/devices/me/telemetry", `{"a":1,"b":"x"}`, `telemetry c1 2026-11-22T12:00:00Z a=1 b="x"`},
		{"thingsboard", "v1/devices/me/telemetry", `[{"a":1},{"ts":1795000000000,"values":{"a":2}}]`, "telemetry c1 2026-11-22T12:00:00Z a=1\ntelemetry c1 2026-11-18T11:06:40Z a=2"},
		{"thingsboard", "v2/t", `{"ts":1795000000000,"values":{"a":{"x":
			1}}}`, `telemetry c1 2026-11-18T11:06:40Z a={"x":1}`},
		{"thingsboard", "v2/t", `{"a":1} x`, "rejected(malformed: the payload is not telemetry of ThingsBoard: it is not JSON)"},
		{"thingsboard", "v1/gateway/telemetry", `{"A":[{"ts":1795000000000,"values":{"a":1}}],"B b":[{"ts":1795000000001,"values":{"a":2}}]}`, "telemetry A 2026-11-18T11:06:40Z a=1\ntelemetry B b 2026-11-18T11:06:40Z a=2"},
		{"thingsboard", "v1/gateway/telemetry", `{"A":`, "rejected(malformed: the payload is not telemetry of a gateway: it is not JSON)"},
		{"tasmota", "tele/plug7/SENSOR", `{"Time":"2026-11-20T10:00:00","ENERGY":{"TotalStartTime":"2026-01-01T00:00:00","Total":1.234,"Power":12},"TempUnit":"C"}`, `tasmota plug7 2026-11-20T10:00:00Z ENERGY.Power=12 ENERGY.Total=1.234 ENERGY.TotalStartTime="2026-01-01T00:00:00" TempUnit="C"`},
		{"zigbee2mqtt", "zigbee2mqtt/kitchen", `{"battery":97,"humidity":51.2,"last_seen":"2026-11-20T10:00:00Z","update":{"state":"idle"}}`, `zigbee2mqtt kitchen 2026-11-20T10:00:00Z battery=97 humidity=51.2 update.state="idle"`},
		{"zigbee2mqtt", "zigbee2mqtt/kitchen", `{"contact":false}`, "zigbee2mqtt kitchen 2026-11-22T12:00:00Z contact=false"},
		{"ttn", "v3/greenhouse@ttn/devices/eui-0004a30b001c0530/up", `{"end_device_ids":{"device_id":"eui-0004a30b001c0530"},"received_at":"2026-11-20T10:00:00.5Z","uplink_message":{"f_port":1,"decoded_payload":{"temperature":21.5,"soil":{"moisture":40}}}}`, "greenhouse eui-0004a30b001c0530 2026-11-20T10:00:00Z soil.moisture=40 temperature=21.5"},
		{"ttn", "v3/greenhouse@ttn/devices/eui-1/up", `{"received_at":"2026-11-20T10:00:00Z","uplink_message":{"f_port":1}}`, "rejected(malformed: the payload is not a JSON object with the fields: see fields_at)"},
		{"chirpstack", "application/7/device/0101010101010101/event/up", `{"time":"2026-11-20T10:00:00+00:00","object":{"temperature":21.5}}`, "chirpstack 0101010101010101 2026-11-20T10:00:00Z temperature=21.5"},
	} {
		rules, err := topic.PresetRules(c.preset)
		if err != nil {
			t.Fatal(err)
		}
		if got := deliver(t, compile(t, rules...), topic.Message{Topic: c.topic, Payload: []byte(c.payload), Client: "c1"}); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.preset, c.payload, got, c.want)
		}
	}
}

func TestRule_TakesOtherStreamThanPreset(t *testing.T) {
	table := compile(t, topic.Rule{Preset: "tasmota", Stream: "power", Device: "plug-{device}", Timezone: "Europe/Berlin"})
	got := deliver(t, table, topic.Message{Topic: "tele/7/SENSOR", Payload: []byte(`{"Time":"2026-11-20T10:00:00","a":1}`)})
	if want := "power plug-7 2026-11-20T09:00:00Z a=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzResolve checks that no payload makes a conversion panic, and that converted bodies are JSON
// that the reader of readings accepts or rejects by verdicts.
func FuzzResolve(f *testing.F) {
	f.Add("v1/gateway/telemetry", `{"A":[{"ts":1795000000000,"values":{"a":1}}]}`)
	f.Add("v2/t", `[{"a":1},{"ts":1,"values":{"b":{}}}]`)
	f.Add("tele/x/SENSOR", `{"Time":"2026-11-20T10:00:00","E":{"P":[1,{"a":2}]}}`)
	f.Add("v3/a@b/devices/d/up", `{"received_at":1,"uplink_message":{"decoded_payload":{"a":1}}}`)
	var table topic.Table
	for _, name := range topic.Presets() {
		rules, err := topic.PresetRules(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, r := range rules {
			route, err := r.Compile()
			if err != nil {
				f.Fatal(err)
			}
			table = append(table, route)
		}
	}
	f.Fuzz(func(t *testing.T, name, payload string) {
		if got := deliver(t, table, topic.Message{Topic: name, Payload: []byte(payload), Client: "c"}); strings.HasPrefix(got, "error:") && !strings.Contains(got, "body") {
			t.Errorf("%s: %s", payload, got)
		}
	})
}
