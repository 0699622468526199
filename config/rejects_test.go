package config_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/config"
)

// TestRejects_CheckSettings checks mistakes in the settings of rejects, and that RejectOptions returns a
// valid quarantine.
func TestRejects_CheckSettings(t *testing.T) {
	for yaml, want := range map[string]string{
		"streams: {a: {clock_policy: guess}}\n":                                `"guess" is unknown: use refuse or quarantine or correct`,
		"rejects: {limit: 0}\nstreams: {a: {clock_policy: quarantine}}\n":      "streams.a.clock_policy: quarantine requires rejects: set rejects.limit and rejects.retention to more than 0",
		"rejects: {retention: 0s}\nstreams: {a: {clock_policy: quarantine}}\n": "quarantine requires rejects",
		"rejects: {retention: forever}\n":                                      "rejects.retention: not from 0s to 10y",
		"rejects: {limit: -1}\n":                                               "rejects.limit",
	} {
		if got := mistakes(t, config.Source{File: file(t, yaml)}); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", yaml, got, want)
		}
	}
	loaded, err := config.Load(config.Source{File: file(t, "streams: {a: {clock_policy: quarantine}, b: {clock_policy: refuse}}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if o := loaded.RejectOptions(); !o.Quarantine["a"] || o.Quarantine["b"] || o.Limit == 0 {
		t.Errorf("%+v", o)
	}
}
