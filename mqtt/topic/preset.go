package topic

import (
	"maps"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

var presets = map[string][]Rule{
	"thingsboard": {
		{Pattern: "v1/devices/me/telemetry", Payload: "thingsboard", Stream: "telemetry", Device: "{client}"},
		{Pattern: "v2/t", Payload: "thingsboard", Stream: "telemetry", Device: "{client}"},
		{Pattern: "v1/gateway/telemetry", Payload: "thingsboard-gateway", Stream: "telemetry"},
	},
	"tasmota":     {{Pattern: "tele/{device}/SENSOR", Payload: "flatten", Stream: "tasmota", TimeAt: "Time"}},
	"zigbee2mqtt": {{Pattern: "zigbee2mqtt/{device}", Payload: "flatten", Stream: "zigbee2mqtt", TimeAt: "last_seen"}},
	"ttn": {{
		Pattern: "v3/{app}@{_}/devices/{device}/up", Payload: "flatten", Stream: "{app}",
		TimeAt: "received_at", FieldsAt: "uplink_message.decoded_payload",
	}},
	"chirpstack": {{
		Pattern: "application/{app}/device/{device}/event/up", Payload: "flatten", Stream: "chirpstack",
		TimeAt: "time", FieldsAt: "object",
	}},
}

// Presets returns the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// PresetRules returns the rules of a preset.
func PresetRules(name string) ([]Rule, error) {
	rules, ok := presets[name]
	if !ok {
		return nil, varve.InvalidParam("preset", "%s is unknown: use %s", quote.Text(name), strings.Join(Presets(), ", "))
	}
	return rules, nil
}

// withPreset returns the rule with empty fields set from the first rule of its preset.
func (r Rule) withPreset() (Rule, error) {
	if r.Preset == "" {
		return r, nil
	}
	rules, err := PresetRules(r.Preset)
	if err != nil {
		return r, err
	}
	p := rules[0]
	for _, m := range []struct{ to, from *string }{
		{&r.Pattern, &p.Pattern}, {&r.Payload, &p.Payload}, {&r.Stream, &p.Stream}, {&r.Device, &p.Device},
		{&r.TimeAt, &p.TimeAt}, {&r.FieldsAt, &p.FieldsAt},
	} {
		if *m.to == "" {
			*m.to = *m.from
		}
	}
	return r, nil
}
