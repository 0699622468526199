package config_test

import (
	"errors"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/mqtt/topic"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const day = 24 * time.Hour

// file writes a configuration file into a new folder, and changes to this folder.
func file(t testing.TB, yaml string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	const path = "varve.yaml"
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a configuration that has no mistakes.
func load(t *testing.T, src config.Source) *config.Loaded {
	t.Helper()
	loaded, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// mistakes returns the mistakes in a configuration, one per line.
func mistakes(t testing.TB, src config.Source) string {
	t.Helper()
	_, err := config.Load(src)
	if err == nil {
		return ""
	}
	var all config.Mistakes
	if !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("%v is no mistakes", err)
	}
	for _, m := range all {
		if m.Origin == "" || m.Message == "" {
			t.Errorf("%+v says too little", m)
		}
	}
	return err.Error()
}

// flags returns settings of the command line, as from --set.
func flags(settings ...string) (values, names map[string]string) {
	values, names = map[string]string{}, map[string]string{}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		values[key], names[key] = value, "--set "+key
	}
	return values, names
}

func TestDefaults_AreValid(t *testing.T) {
	loaded := load(t, config.Source{})
	if !reflect.DeepEqual(loaded.Config, config.Default()) || len(loaded.Origins) != 0 {
		t.Errorf("nothing configured is %+v", loaded)
	}
	if err := loaded.Rotation().Validate(); err != nil {
		t.Error(err)
	}
	if c := loaded.Config; c.Retention.Drop || !strings.HasPrefix(c.Server.Listen, "127.0.0.1:") {
		t.Errorf("by default tables are dropped, or others may connect: %+v", c)
	}
	for _, v := range loaded.Values() {
		if v.Origin != "default" || v.Doc == "" {
			t.Errorf("%+v", v)
		}
	}
}

const everything = `
server:
  listen: "[::1]:9000"
  hosts: varve.example.com, varve.example.com:8443
  tls_cert: c.pem
  tls_key: k.pem
  proxied: true
  drain: 1m
  debug_listen: 127.0.0.1:6060
store:
  kind: mem
  dir: /var/lib/varve
  memory: 128MiB
  cache: 1GiB
  endpoint: http://127.0.0.1:8000
  region: eu-central-1
  registry: acme_registry
  table_quota: 5000
  min_free: 0
tables:
  prefix: acme
  future: 2d
  recent_weeks: 8
  doubling: 3y
  months_ahead: 3
retention:
  drop: archived
  grace: 14d
  seal: 2h
  schedule: "@every 30m"
  max_drops: 7
archive:
  kind: s3
  dir: /var/lib/archive
  bucket: acme-archive
  merge: false
  prefix: plant/varve
  endpoint: http://127.0.0.1:7070
  region: eu-central-1
  rate: 100000
  retention: 10y
receipts:
  key_file: receipts.pem
rollups:
  enabled: false
  resent: count
alerts:
  url: https://varve.example.com
  digest: 10m
limits:
  body: 1048576
  request: 10m
  stall: 30s
  requests: 10
  readings: 20
  reads: 30
  series_fields: 40
query: {max_series: 50, max_samples: 60, timeout: 30s}
prometheus: {lookback: 10m}
logs:
  retention: 90d
rejects:
  limit: 500
  retention: 7d
influx:
  enabled: false
  device: serial, host
  tags: fields
  field_tags: site
  databases: telegraf, home
aws:
  firehose: true
  iot:
    accounts: "123456789012"
ingest:
  sqs:
    queue: http://127.0.0.1:4566/000000000000/readings
    receivers: 2
    stream: weather
    format: ndjson
    params: precision=s
    tenant: acme
    region: eu-central-1
    endpoint: http://127.0.0.1:4566
  kinesis:
    name: readings
    stream: weather
    format: line
    params: time=arrival
    tenant: acme
    region: eu-central-1
    endpoint: http://127.0.0.1:4567
log:
  level: debug
  format: json
console: {enabled: false}
metrics:
  cloudwatch: true
classes:
  default: {retention: 30d}
  archive: {retention: forever}
streams:
  weather: {class: archive}
  weather.raw: {retention: 7d}
  plain: {}
  nothing:
notifiers:
  ops: {kind: webhook, url: "https://example.com/hook", severities: critical}
mqtt:
  url: mqtts://broker.example.com:8883
  user: reader
  password_file: /etc/varve/broker
  client_id: varve-1
  protocol: 3.1.1
  ca_file: ca.pem
  cert_file: client.pem
  key_file: client.key
  share: group
  tenant: acme
  window: 500
  session: 1d
  listen: 127.0.0.1:1883
  max_message: 64KiB
  presets: tasmota, ttn
topics:
  up:
    preset: chirpstack
    pattern: up/{site}/{device}/{key}
    payload: value
    stream: "{site}"
    device: "{site}-{device}"
    tenant: acme
    field: "{key}"
    time: required
    time_at: at
    fields_at: a.b
    precision: s
    timezone: Europe/Berlin
    columns: time,a
`

// TestSettings_CanBeSetInFile checks that every setting can be set in a file. The policies of
// rotation and retention must have the values of their settings.
func TestSettings_CanBeSetInFile(t *testing.T) {
	loaded := load(t, config.Source{File: file(t, everything), Required: true})
	want := config.Config{
		Server: config.Server{Listen: "[::1]:9000", Hosts: "varve.example.com, varve.example.com:8443", TLSCert: "c.pem", TLSKey: "k.pem", Proxied: true, Drain: time.Minute, DebugListen: "127.0.0.1:6060"},
		Store:  config.Store{Kind: "mem", Dir: "/var/lib/varve", Memory: 128 << 20, Cache: 1 << 30, Endpoint: "http://127.0.0.1:8000", Region: "eu-central-1", Registry: "acme_registry", TableQuota: 5000},
		Tables: config.Tables{Prefix: "acme", Future: 2 * day, RecentWeeks: 8, Doubling: 3 * 365 * day, MonthsAhead: 3},
		Archive: config.Archive{
			Kind: "s3", Dir: "/var/lib/archive", Bucket: "acme-archive", Prefix: "plant/varve", Endpoint: "http://127.0.0.1:7070",
			Region: "eu-central-1", Rate: 100000, Retention: 10 * 365 * day,
		},
		Retention: config.Retention{Drop: true, ArchiveFirst: true, Grace: 14 * day, Seal: 2 * time.Hour, Schedule: "@every 30m", MaxDrops: 7},
		Classes:   map[string]config.Class{"default": {Retention: 30 * day}, "archive": {Retention: retention.Forever}},
		Streams:   map[string]config.Stream{"weather": {Class: "archive"}, "weather.raw": {Retention: 7 * day}, "plain": {}, "nothing": {}},
		Notifiers: map[string]config.Notifier{"ops": {Kind: "webhook", URL: "https://example.com/hook", Severities: "critical"}},
		Alerts:    config.Alerts{URL: "https://varve.example.com", Digest: 10 * time.Minute},
		Receipts:  config.Receipts{KeyFile: "receipts.pem"},
		Rollups:   config.Rollups{Resent: "count"},
		Limits:    config.Limits{Body: 1 << 20, Request: 10 * time.Minute, Stall: 30 * time.Second, Requests: 10, Readings: 20, Reads: 30, SeriesFields: 40},
		Query:     config.Query{MaxSeries: 50, MaxSamples: 60, Timeout: 30 * time.Second},
		Logs:      config.Logs{Retention: 90 * day},
		Rejects:   config.Rejects{Limit: 500, Retention: 7 * day},
		Influx:    config.Influx{Device: "serial, host", Tags: "fields", FieldTags: "site", Databases: "telegraf, home"},
		AWS:       config.AWS{Firehose: true, IoT: config.IoT{Accounts: "123456789012"}},
		Ingest: config.Ingest{
			SQS: config.SQS{Queue: "http://127.0.0.1:4566/000000000000/readings", Receivers: 2, Records: config.Records{
				Tenant: "acme", Stream: "weather", Format: "ndjson", Params: "precision=s", Region: "eu-central-1", Endpoint: "http://127.0.0.1:4566"}},
			Kinesis: config.Kinesis{Name: "readings", Records: config.Records{
				Tenant: "acme", Stream: "weather", Format: "line", Params: "time=arrival", Region: "eu-central-1", Endpoint: "http://127.0.0.1:4567"}},
		},
		MQTT:    everyMQTT,
		Topics:  map[string]topic.Rule{"up": everyTopic},
		Log:     config.Log{Level: "debug", Format: "json"},
		Metrics: config.Metrics{CloudWatch: true},

		Prometheus: config.Prometheus{Lookback: 10 * time.Minute},
	}
	if !reflect.DeepEqual(loaded.Config, want) {
		t.Errorf("got  %+v\nwant %+v", loaded.Config, want)
	}
	for _, v := range loaded.Values() {
		if !strings.Contains(v.Origin, "varve.yaml:") {
			t.Errorf("%s is from %s: the test leaves it out", v.Key, v.Origin)
		}
	}
	if hosts := loaded.Server.HostList(); !slices.Equal(hosts, []string{"varve.example.com", "varve.example.com:8443"}) {
		t.Errorf("the hosts are %q", hosts)
	}
	r := loaded.Rotation()
	if r.Grid != loaded.Grid() || r.Grid.Future != 2*day || r.Grid.Recent != 8 || r.Grid.Doubling != 3*365*day ||
		!r.Drop || r.Grace != 14*day || r.Seal != 2*time.Hour || r.MaxDrops != 7 || r.MonthsAhead != 3 {
		t.Errorf("the rotation is %+v", r)
	}
	if got, usual := loaded.Resent(), config.Default(); got != rollup.CountResent || usual.Resent() != rollup.IgnoreResent {
		t.Errorf("resent readings: %s, by default %s", got, usual.Resent())
	}
	p := loaded.Policy()
	if p.Prefix != "acme" || p.ClassOf("weather").Name != "archive" || p.RetentionOf("weather.raw", "default") != 7*day || p.RetentionOf("plain", "default") != 30*day {
		t.Errorf("the retention is %+v", p)
	}
}

// TestLoad_OverridesLayerByLayer checks that each layer overrides single settings of the one
// before, and each value has its origin.
func TestLoad_OverridesLayerByLayer(t *testing.T) {
	path := file(t, `
log: {level: warn, format: json}
tables: {prefix: file}
classes:
  short: {retention: 7d}
streams:
  debug.all: {class: short, retention: 1d}
`)
	values, names := flags("log.level=error", "streams.debug.all.retention=2d")
	loaded := load(t, config.Source{
		File: path, Flags: values, FlagNames: names,
		Environ: []string{
			"VARVE_LOG_LEVEL=debug", "VARVE_TABLES_PREFIX=env", "VARVE_CLASSES_SHORT_RETENTION=6d", "VARVE_STREAMS_AB_CLASS=short",
			"HOME=/root", "VARVE_CONFIG=x", "VARVE_SERVER=y", "OTHER_LOG_LEVEL=x", "VARVE", "",
		},
	})
	for key, want := range map[string][2]string{
		"log.level":                   {"error", "--set log.level"},
		"log.format":                  {"json", path + ":2"},
		"tables.prefix":               {"env", "VARVE_TABLES_PREFIX"},
		"classes.short.retention":     {"6d", "VARVE_CLASSES_SHORT_RETENTION"},
		"classes.default.retention":   {"1y", "default"},
		"streams.debug.all.class":     {"short", path + ":7"},
		"streams.debug.all.retention": {"2d", "--set streams.debug.all.retention"},
		"streams.ab.class":            {"short", "VARVE_STREAMS_AB_CLASS"},
		"server.listen":               {"127.0.0.1:8278", "default"},
	} {
		found := false
		for _, v := range loaded.Values() {
			if v.Key == key {
				found = true
				if v.Value != want[0] || v.Origin != want[1] {
					t.Errorf("%s is %s from %s, want %s from %s", key, v.Value, v.Origin, want[0], want[1])
				}
			}
		}
		if !found {
			t.Errorf("%s is not printed", key)
		}
	}
}

// TestPrint_IsReadAsFlags checks that the printed settings, read as flags, result in the same
// configuration.
func TestPrint_IsReadAsFlags(t *testing.T) {
	loaded := load(t, config.Source{File: file(t, everything)})
	delete(loaded.Streams, "plain") // a stream without settings is not printed
	delete(loaded.Streams, "nothing")
	values, names := map[string]string{}, map[string]string{}
	for _, v := range loaded.Values() {
		values[v.Key], names[v.Key] = v.Value, "--set"
	}
	again := load(t, config.Source{Flags: values, FlagNames: names})
	if !reflect.DeepEqual(again.Config, loaded.Config) {
		t.Errorf("got  %+v\nwant %+v", again.Config, loaded.Config)
	}
}

// TestSettings_HaveVariables checks that every setting has a variable of its own, and is read
// from it.
func TestSettings_HaveVariables(t *testing.T) {
	loaded := load(t, config.Source{File: file(t, everything)})
	var environ []string
	for _, v := range loaded.Values() {
		if !strings.HasPrefix(v.Key, "streams.") {
			environ = append(environ, config.EnvOf(v.Key)+"="+v.Value)
		}
	}
	again := load(t, config.Source{Environ: environ})
	// Leave out the streams, as in environ. Variables cannot set a stream with a dot in its name, unless
	// another source names the stream.
	loaded.Streams = map[string]config.Stream{}
	if !reflect.DeepEqual(again.Config, loaded.Config) {
		t.Errorf("got  %+v\nwant %+v", again.Config, loaded.Config)
	}
}

func TestSize_Parses(t *testing.T) {
	for in, want := range map[string]config.Size{
		"0": 0, "1": 1, "1023": 1023, "1KiB": 1 << 10, "64MiB": 64 << 20, "3GiB": 3 << 30, "2 GiB": 2 << 30, "0GiB": 0,
		"9223372036854775807": 1<<63 - 1, "8589934591GiB": 8589934591 << 30, "1025KiB": 1025 << 10,
	} {
		got, err := config.ParseSize(in)
		if err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", in, got, err, want)
		}
		if again, err := config.ParseSize(got.String()); err != nil || again != got {
			t.Errorf("%d is written %s and read as %d, %v", got, got, again, err)
		}
	}
	for _, in := range []string{"", "-1", "-1KiB", "1.5GiB", "1K", "1KB", "1kib", "GiB", "9223372036854775808", "8589934592GiB", "1 000", "0x10"} {
		if got, err := config.ParseSize(in); err == nil {
			t.Errorf("%q is taken as %d", in, got)
		}
	}
	for size, want := range map[config.Size]string{1 << 30: "1GiB", 1 << 20: "1MiB", 1536: "1536", 3 << 19: "1536KiB"} {
		if got := size.String(); got != want {
			t.Errorf("%d is written %s, want %s", int64(size), got, want)
		}
	}
}
