package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/mqtt/topic"
)

// everyMQTT and everyTopic are the MQTT settings in the configuration file that TestSettings_CanBeSetInFile reads.
var everyMQTT = config.MQTT{
	URL: "mqtts://broker.example.com:8883", User: "reader", PasswordFile: "/etc/varve/broker", ClientID: "varve-1", Protocol: "3.1.1",
	CAFile: "ca.pem", CertFile: "client.pem", KeyFile: "client.key", Share: "group", Tenant: "acme", Window: 500, Session: 24 * time.Hour,
	Listen: "127.0.0.1:1883", MaxMessage: 64 << 10, Presets: "tasmota, ttn",
}

var everyTopic = topic.Rule{
	Preset: "chirpstack", Pattern: "up/{site}/{device}/{key}", Payload: "value", Stream: "{site}", Device: "{site}-{device}", Tenant: "acme",
	Field: "{key}", Time: "required", TimeAt: "at", FieldsAt: "a.b", Precision: "s", Timezone: "Europe/Berlin", Columns: "time,a",
}

func TestLoad_FindsMistakesOfMQTT(t *testing.T) {
	for text, want := range map[string]string{
		"mqtt: {url: broker}":                                  `mqtt.url: "broker" is not the address of a broker`,
		"mqtt: {url: 'http://broker'}":                         "mqtt.url: \"http://broker\" is not the address",
		"mqtt: {url: 'mqtt://me:secret@broker'}":               "mqtt.url: the address has a user: set mqtt.user",
		"mqtt: {url: 'mqtt://broker/topic'}":                   "mqtt.url: \"mqtt://broker/topic\" has a path",
		"mqtt: {protocol: 4}":                                  "mqtt.protocol: \"4\" is unknown: use auto or 5 or 3.1.1",
		"mqtt: {client_id: a b}":                               `mqtt.client_id: "a b" is not a client id`,
		"mqtt: {share: a/b}":                                   `mqtt.share: "a/b" is not the name`,
		"mqtt: {share: a}":                                     "mqtt.share: requires mqtt.url",
		"mqtt: {window: 70000}":                                "mqtt.window: 70000 is too much",
		"mqtt: {listen: '1883'}":                               `mqtt.listen: "1883" is not an address and port`,
		"mqtt: {cert_file: a}":                                 "mqtt.cert_file: requires mqtt.key_file",
		"mqtt: {password_file: a}":                             "mqtt.password_file: requires mqtt.user",
		"mqtt: {presets: 'ttn, shelly'}":                       `mqtt.presets: "shelly" is unknown: use chirpstack, tasmota, thingsboard, ttn, zigbee2mqtt`,
		"mqtt: {max_message: 0}":                               "mqtt.max_message: 0 is too little",
		"topics: {a: {}}":                                      "topics.a.pattern: is missing",
		"topics: {a: {payload: json}}":                         "topics.a.pattern: the pattern is empty",
		"topics: {a: {pattern: 'a/+/{device}'}}":               `topics.a.pattern: level "+": write a name in braces`,
		"topics: {a: {pattern: 'a/{device}'}}":                 "topics.a.stream: required: set it, or add {stream} to the pattern",
		"topics: {a: {pattern: 'a/{stream}', device: '{x}'}}":  "topics.a.device: the pattern has no name {x}",
		"topics: {a: {pattern: 'a/{stream}', payload: xml}}":   `topics.a.payload: "xml" is unknown: use csv, flatten, json`,
		"topics: {a: {pattern: 'a/{stream}', payload: value}}": "topics.a.field: required",
		"topics: {a: {pattern: 'a/{stream}', time: now}}":      `topics.a.time: "now" is unknown: use arrival or required`,
		"topics: {a: {pattern: 'a/{stream}', timezone: Mars}}": `topics.a.timezone: "Mars" is unknown`,
		"topics: {a: {pattern: 'a/{stream}', precision: h}}":   `topics.a.precision: "h" is unknown`,
		"topics: {a: {preset: shelly}}":                        `topics.a.preset: "shelly" is unknown`,
		"topics: {a: {preset: ttn, patern: 'a/{stream}'}}":     "topics.a.patern: unknown setting: did you mean topics.a.pattern?",
	} {
		_, err := config.Load(config.Source{File: file(t, text), Required: true})
		var mistakes config.Mistakes
		if !errors.As(err, &mistakes) || len(mistakes) != 1 || !strings.Contains(mistakes[0].String(), want) {
			t.Errorf("%s\n  got  %v\n  want %s", text, err, want)
		}
	}
}

// TestTopicTable_OrdersRulesAndPresets checks that topics come before presets, and that the default
// pattern applies if the configuration has neither.
func TestTopicTable_OrdersRulesAndPresets(t *testing.T) {
	for text, want := range map[string]string{
		"mqtt: {}": "varve/+/+",
		"mqtt: {presets: ttn}\ntopics: {b: {pattern: 'b/{stream}/{device}'}, a: {pattern: 'a/{stream}/#'}}": "a/+/#,b/+/+,v3/+/devices/+/up",
	} {
		loaded := load(t, config.Source{File: file(t, text)})
		table, err := loaded.TopicTable()
		if got := strings.Join(table.Filters(), ","); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	if !slices.Contains(topic.Presets(), "thingsboard") {
		t.Error("the preset thingsboard is missing")
	}
}
