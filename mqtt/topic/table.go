package topic

import (
	"maps"
	"slices"
	"strings"
)

// NewTable returns the routes of named rules, sorted by name, and then the routes of presets.
// If both are empty, it returns the route of DefaultPattern.
func NewTable(named map[string]Rule, presets []string) (Table, error) {
	var rules []Rule
	for _, name := range slices.Sorted(maps.Keys(named)) {
		rules = append(rules, named[name])
	}
	for _, name := range presets {
		of, err := PresetRules(name)
		if err != nil {
			return nil, err
		}
		rules = append(rules, of...)
	}
	if len(rules) == 0 {
		rules = []Rule{{Pattern: DefaultPattern}}
	}
	var table Table
	for _, r := range rules {
		route, err := r.Compile()
		if err != nil {
			return nil, err
		}
		table = append(table, route)
	}
	return table, nil
}

// RuleSetting is a field of Rule as a setting.
type RuleSetting struct {
	Name, Doc string
	At        func(*Rule) *string // returns the address of the field
}

// RuleSettings returns the fields of Rule as settings.
func RuleSettings() []RuleSetting {
	return []RuleSetting{
		{"preset", "settings of a common sender; the others here replace its own: " + strings.Join(Presets(), ", "), func(r *Rule) *string { return &r.Preset }},
		{"pattern", "topics, with names in braces, as in sensors/{device}/{stream}", func(r *Rule) *string { return &r.Pattern }},
		{"payload", "kind of the payload: " + strings.Join(Payloads(), ", "), func(r *Rule) *string { return &r.Payload }},
		{"stream", "the stream; a text with names of the pattern in braces", func(r *Rule) *string { return &r.Stream }},
		{"device", "the device of readings that name none; a text with names", func(r *Rule) *string { return &r.Device }},
		{"tenant", "the tenant; a text with names", func(r *Rule) *string { return &r.Tenant }},
		{"field", "payload value: the field; a text with names", func(r *Rule) *string { return &r.Field }},
		{"time", "readings without a time: arrival or required", func(r *Rule) *string { return &r.Time }},
		{"time_at", "payload flatten: path of the time, as in uplink.received_at", func(r *Rule) *string { return &r.TimeAt }},
		{"fields_at", "payload flatten: path of the object with the fields", func(r *Rule) *string { return &r.FieldsAt }},
		{"precision", "unit of numeric times: s, ms, us or ns", func(r *Rule) *string { return &r.Precision }},
		{"timezone", "zone of times without one, as in Europe/Berlin; default UTC", func(r *Rule) *string { return &r.Timezone }},
		{"columns", "payload csv: names of the columns, if the payload has no header", func(r *Rule) *string { return &r.Columns }},
	}
}
