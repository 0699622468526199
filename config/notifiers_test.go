package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/config"
)

func TestNotifiers_AreReadFromFileAndEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "varve.yaml")
	text := "notifiers:\n  on-call:\n    kind: webhook\n    url: https://example.com/hook\n    severities: critical, warning\n    rules: hot\n" +
		"alerts: {url: \"https://varve.example.com\", digest: 10m}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Source{File: file, Required: true, Environ: []string{
		"VARVE_NOTIFIERS_ON_CALL_SECRET_FILE=hook.secret", "VARVE_NOTIFIERS_AM_KIND=alertmanager", "VARVE_NOTIFIERS_AM_URL=http://localhost:9093",
	}})
	if err != nil {
		t.Fatal(err)
	}
	n := loaded.Notifiers["on-call"]
	r := n.Route()
	if n.SecretFile != "hook.secret" || !slices.Equal(r.Severities, []alerts.Severity{alerts.Critical, alerts.Warning}) || !slices.Equal(r.Rules, []string{"hot"}) || r.Streams != nil {
		t.Errorf("%+v, route %+v", n, r)
	}
	if am := loaded.Notifiers["am"]; am.Kind != "alertmanager" || am.URL != "http://localhost:9093" {
		t.Errorf("%+v", loaded.Notifiers)
	}
	for _, key := range []string{"notifiers.on-call.secret_file", "notifiers.am.kind", "alerts.digest"} {
		if !slices.ContainsFunc(loaded.Values(), func(v config.Value) bool { return v.Key == key && v.Origin != "default" }) {
			t.Errorf("%s is not printed with its origin", key)
		}
	}
}

func TestNotifiers_MistakesAreReported(t *testing.T) {
	for text, want := range map[string]string{
		"notifiers: {a: {url: 'http://x'}}":                                                "varve.yaml:1: notifiers.a.kind: is missing: use webhook",
		"notifiers: {a: {kind: pager, url: 'http://x'}}":                                   `notifiers.a.kind: "pager" is unknown: use webhook or alertmanager or mqtt or sns`,
		"notifiers: {a: {kind: webhook}}":                                                  "notifiers.a.url: is missing",
		"notifiers: {a: {kind: webhook, url: example.com}}":                                "notifiers.a.url: not an address",
		"notifiers: {a: {kind: webhook, url: 'https://u:p@x'}}":                            "notifiers.a.url: has a password: use secret_file",
		"notifiers: {a: {kind: webhook, url: 'https://x', severities: 'critical,fatal'}}":  `notifiers.a.severities: "fatal" is unknown`,
		"notifiers: {a: {kind: webhook, url: 'https://x', rules: 'a b'}}":                  "notifiers.a.rules: ",
		"notifiers: {a: {kind: webhook, url: 'https://x', secret_file: s, secret_env: S}}": "notifiers.a.secret_env: excludes secret_file",
		"notifiers: {a: {kind: webhook, url: 'https://x', secret: whsec_AAAA}}":            "notifiers.a.secret: unknown setting",
		"notifiers: {'a b': {kind: webhook, url: 'https://x'}}":                            "the notifier's name",
		"notifiers: {a: {kind: mqtt, url: 'https://x'}}":                                   "notifiers.a.url: not a broker",
		"notifiers: {a: {kind: mqtt, url: 'mqtt://x', topic: 'a/#'}}":                      "notifiers.a.topic: ",
		"notifiers: {a: {kind: sns}}":                                                      "notifiers.a.topic: not the ARN",
		"notifiers: {a: {kind: webhook, url: 'https://x', topic: t}}":                      "notifiers.a.topic: is for mqtt and sns",
		"alerts: {url: varve.example.com}":                                                 "alerts.url: not an address",
		"alerts: {digest: 0s}":                                                             "alerts.digest: 0s is too little",
	} {
		file := filepath.Join(t.TempDir(), "varve.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Source{File: file, Required: true})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestNotifier_ReadsSecret(t *testing.T) {
	dir := t.TempDir()
	full, empty := filepath.Join(dir, "full"), filepath.Join(dir, "empty")
	for name, text := range map[string]string{full: "whsec_x\n", empty: "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOOK_SECRET", "whsec_y")
	for _, c := range []struct {
		n          config.Notifier
		want, fail string
	}{
		{config.Notifier{SecretFile: full}, "whsec_x", ""}, {config.Notifier{SecretEnv: "HOOK_SECRET"}, "whsec_y", ""}, {config.Notifier{}, "", ""},
		{config.Notifier{SecretFile: empty}, "", "secret_file: the file is empty"}, {config.Notifier{SecretFile: dir + "/none"}, "", "secret_file: "},
		{config.Notifier{SecretEnv: "NO_SUCH_SECRET"}, "", "secret_env: the variable NO_SUCH_SECRET is empty"},
	} {
		got, err := c.n.Secret()
		if got != c.want || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%+v: %q, %v", c.n, got, err)
		}
	}
}
