package config_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/config"
)

// warnings returns the warnings about an environment without mistakes, one per line.
func warnings(t *testing.T, environ ...string) string {
	t.Helper()
	var lines []string
	for _, w := range load(t, config.Source{Environ: environ}).Warnings {
		lines = append(lines, w.String())
	}
	return strings.Join(lines, "\n")
}

// TestLoad_IgnoresVariablesOfKubernetes loads the variables that Kubernetes adds to each pod for
// the services varve and varve-headless.
// They must not cause a warning.
func TestLoad_IgnoresVariablesOfKubernetes(t *testing.T) {
	got := warnings(t,
		"VARVE_SERVICE_HOST=10.96.0.7", "VARVE_SERVICE_PORT=8278", "VARVE_SERVICE_PORT_HTTP=8278",
		"VARVE_PORT=tcp://10.96.0.7:8278", "VARVE_PORT_8278_TCP=tcp://10.96.0.7:8278", "VARVE_PORT_8278_TCP_PROTO=tcp",
		"VARVE_PORT_8278_TCP_PORT=8278", "VARVE_PORT_8278_TCP_ADDR=10.96.0.7", "VARVE_PORT_514_UDP=udp://10.96.0.7:514",
		"VARVE_HEADLESS_SERVICE_HOST=10.96.0.8", "VARVE_HEADLESS_PORT=tcp://10.96.0.8:8278", "VARVE_HEADLESS_PORT_8278_TCP_ADDR=10.96.0.8")
	if got != "" {
		t.Errorf("warnings of injected variables:\n%s", got)
	}
}

// TestLoad_WarnsOfOtherVariables checks that a variable that is not a setting gives a warning with
// a remedy, and never a mistake.
func TestLoad_WarnsOfOtherVariables(t *testing.T) {
	const all = "varve config print lists all settings"
	for environ, want := range map[string]string{
		"VARVE_VERSION=1.2":                 all,
		"VARVE_HOME=/opt/varve":             all,
		"VARVE_TIMEOUT=5s":                  "did you mean VARVE_QUERY_TIMEOUT?",
		"VARVE_BIN=/usr/bin/varve":          all,
		"VARVE_=x":                          all,
		"VARVE_PORT=8300":                   "did you mean VARVE_SERVER_LISTEN?",
		"VARVE_SERVER_PORT=8300":            "did you mean VARVE_SERVER_LISTEN?",
		"VARVE_LISTEN=:80":                  "did you mean VARVE_SERVER_LISTEN?",
		"VARVE_SREVER_LISTEN=:80":           "did you mean VARVE_SERVER_LISTEN?",
		"VARVE_DATA=/var/lib/varve":         "did you mean VARVE_STORE_DIR?",
		"VARVE_STORE=dynamodb":              "did you mean VARVE_STORE_KIND?",
		"VARVE_SERVR=http://a":              "did you mean VARVE_SERVER?",
		"VARVE_LOGLEVEL=info":               "did you mean VARVE_LOG_LEVEL?",
		"VARVE_LIMITS_SERIES_FIELD=5":       "did you mean VARVE_LIMITS_SERIES_FIELDS?",
		"VARVE_CLASSES_RETENTION=1d":        "did you mean VARVE_CLASSES_DEFAULT_RETENTION?",
		"VARVE_CLASES_DEFAULT_RETENTION=1d": "did you mean VARVE_CLASSES_DEFAULT_RETENTION?",
		"VARVE_STREAM_WEATHER_RETENTION=1d": "did you mean VARVE_STREAMS_WEATHER_RETENTION?",
	} {
		name, _, _ := strings.Cut(environ, "=")
		if got := warnings(t, environ); got != name+": not a setting, ignored: "+want {
			t.Errorf("%s\ngot  %s\nwant %s", environ, got, want)
		}
	}
	for _, environ := range []string{"VARVE_CONFIG=x.yaml", "VARVE_KEY=vk_a_b", "varve_log_level=x", "VARVE_LOG_LEVEL=info", "PATH=/bin"} {
		if got := warnings(t, environ); got != "" {
			t.Errorf("%s: warning %s, want none", environ, got)
		}
	}
}

func TestLoad_SuggestsSettingThatFits(t *testing.T) {
	for yaml, want := range map[string]string{
		"clases: {default: {retention: 7d}}":                         "did you mean classes.default.retention?",
		"server: {port: 8300}":                                       "did you mean server.listen?",
		"stream: {weather: {row_window: 1h}}":                        "did you mean streams.weather.row_window?",
		"streams: {weather: {retentoin: 1h}}":                        "did you mean streams.weather.retention?",
		"store: {path: /var/lib/varve}":                              "did you mean store.dir?",
		"retention: 7d":                                              "varve config print lists all settings",
		"notifiers: {hook: {kind: webhook, url: http://a, urll: x}}": "did you mean notifiers.hook.url?",
		"classes: {default: {retentions: 7d}}":                       "did you mean classes.default.retention?",
	} {
		got := mistakes(t, config.Source{File: file(t, yaml)})
		if line, _, _ := strings.Cut(got, "\n"); !strings.HasSuffix(line, "unknown setting: "+want) {
			t.Errorf("%s\ngot  %s\nwant %s", yaml, got, want)
		}
	}
}
