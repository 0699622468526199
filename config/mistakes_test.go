package config_test

import (
	"errors"
	"github.com/varvedb/varve/config"
	"os"
	"strings"
	"testing"
)

const allMistakes = `--set limits.requests: limits.requests: "0" is not a whole number from 1 on
--set nope: nope: unknown setting: varve config print lists all settings
VARVE_LIMITS_STALL: limits.stall: "soon" is not a duration: write forever, or numbers with y, w, d, h, m, s as in 90d or 1d12h
VARVE_LOG_FORMAT: log.format: "xml" is unknown: use console or json
varve.yaml:3: server.listen: "nowhere" is not an address and port, as in 127.0.0.1:8278
varve.yaml:4: server.lisen: unknown setting: did you mean server.listen?
varve.yaml:5: store.kind: "floppy" is unknown: use local or dynamodb or mem
varve.yaml:5: store.memory: "much" is not a size: write bytes, or a number with KiB, MiB or GiB
varve.yaml:7: tables.prefix: the prefix "my_prefix" has '_' in it: use letters, digits and hyphens
varve.yaml:8: tables.recent_weeks: 99 is not from 0 to 52 weeks
varve.yaml:10: retention.drop: "yes" is unknown: use true, false or archived
varve.yaml:11: retention.schedule: schedule "often": expected exactly 5 fields, found 1: [often]: write five fields as for cron, or @hourly, or @every 30m
varve.yaml:12: retention.grace: 0s is too little: it must be more than 0
varve.yaml:14: log.level: "loud" is unknown: use debug or info or warn or error
varve.yaml:16: classes.a_b: a class is named with letters and digits
varve.yaml:17: classes.x.retention: 1s is not from 1m to 100y, or forever
varve.yaml:18: classes.y.retention: is missing
varve.yaml:20: streams.s.class: "nope" is not configured: use one of a_b, default, x
varve.yaml:21: streams.t.retention: 100y is longer than the 1s of class x: put the stream into a class that keeps readings as long
varve.yaml:22: streams.u/v: stream "u/v": use letters, digits, . _ - and begin with a letter or digit
varve.yaml:24: rotator.every: unknown setting: varve config print lists all settings`

// TestMistakes_AreReportedTogether checks that all mistakes of the file, the environment and the flags
// are reported together. Each must have its origin, and mistakes of the file are in the order of its lines.
func TestMistakes_AreReportedTogether(t *testing.T) {
	values, names := flags("limits.requests=0", "nope=1")
	got := mistakes(t, config.Source{
		File: file(t, `
server:
  listen: nowhere
  lisen: 127.0.0.1:80
store: {kind: floppy, memory: much}
tables:
  prefix: my_prefix
  recent_weeks: 99
retention:
  drop: yes
  schedule: often
  grace: 0s
log:
  level: loud
classes:
  a_b: {retention: 1d}
  x: {retention: 1s}
  y: {}
streams:
  s: {class: nope}
  t: {class: x, retention: 100y}
  u/v: {}
rotator:
  every: 1h
`),
		Environ: []string{"VARVE_LOG_FORMAT=xml", "VARVE_LIMITS_STALL=soon"},
		Flags:   values, FlagNames: names,
	})
	g, w := strings.Split(got, "\n"), strings.Split(allMistakes, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Errorf("line %d\ngot  %s\nwant %s", i, at(g, i), at(w, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

func TestMistakes_NameOrigin(t *testing.T) {
	tests := []struct{ reason, yaml, want string }{
		{"an unknown setting without a value", "bogus:\n", "varve.yaml:1: bogus: unknown setting: varve config print lists all settings"},
		{"an unknown setting with nothing below", "server: {}\nbogus: {}\n", "varve.yaml:2: bogus: unknown setting: varve config print lists all settings"},
		{"an unknown setting without a value, in a group", "retention:\n  drpo:\n", "varve.yaml:2: retention.drpo: unknown setting: did you mean retention.drop?"},
		{"below a setting", "log:\n  level:\n    x: 1\n", "varve.yaml:3: log.level.x: unknown setting: did you mean log.level?"},
		{"a value for a group", "server: 5\n", "varve.yaml:1: server: unknown setting: varve config print lists all settings"},
		{"a value for a class", "classes: {a: 30d}\n", "varve.yaml:1: classes.a: unknown setting: varve config print lists all settings\nvarve.yaml:1: classes.a.retention: is missing"},
		{"several on one line", "classes: {d: {}, b: {}, a: {}, c: {}}\n", "varve.yaml:1: classes.a.retention: is missing\nvarve.yaml:1: classes.b.retention: is missing\n" +
			"varve.yaml:1: classes.c.retention: is missing\nvarve.yaml:1: classes.d.retention: is missing"},
		{"profiles on an address that other machines reach", "server: {debug_listen: \"0.0.0.0:6060\"}\n",
			`varve.yaml:1: server.debug_listen: "0.0.0.0:6060" is not a loopback address, and profiles take no API key: use 127.0.0.1:6060`},
		{"a setting on one line", "log.level: debug\n", "varve.yaml:1: log.level: write each part of it on a line of its own, below the one before"},
		{"a slash for a point", "log/level: debug\n", "varve.yaml:1: log/level: unknown setting: did you mean log.level?"},
		{"a setting twice", "log:\n  level: info\n  format: json\n  level: debug\n", "varve.yaml:4: log.level: is set twice, first on line 2"},
		{"a group twice", "log: {level: info}\nlog: {format: json}\n", "varve.yaml:2: log: is set twice, first on line 1"},
		{"a list for a value", "log:\n  level: [info]\n", "varve.yaml:2: log.level: is a list, and one value is wanted"},
		{"a list for all", "- log\n", "varve.yaml:1: is a list, and one value is wanted"},
		{"a word for all", "\n\nhello\n", `varve.yaml:3: "hello" is not a configuration: write keys and values`},
		{"no YAML", "log:\n  level: info\n format: json\n", "varve.yaml:2: did not find expected key"},
		{"a tab", "log:\n\tlevel: info\n", "varve.yaml:2: found character that cannot start any token"},
		{"a second document", "log: {level: info}\n---\nlog: {level: debug}\n", "varve.yaml:2: a second document begins here, and only the first is read"},
		{"an anchor that is not there", "log: *a\n", "varve.yaml: unknown anchor 'a' referenced"},
		{"a group that contains itself", "server: &a\n  x: *a\n", "varve.yaml:1: server.x: contains itself"},
		{"a merge key", "log:\n  <<: {level: debug}\n", "varve.yaml:2: log.<<.level: unknown setting: did you mean log.level?"},
		{"nothing kept", "classes:\n  default: {retention: 0s}\n", "varve.yaml:2: classes.default.retention: a class cannot keep readings for 0s"},
		{"nothing kept of a stream", "streams:\n  s: {retention: 0d}\n", "varve.yaml:2: streams.s.retention: a stream cannot keep readings for 0d"},
		{"a stream with dots", "streams:\n  ok: {}\n  .a.b: {}\n", `varve.yaml:3: streams..a.b: stream ".a.b": use letters, digits, . _ - and begin with a letter or digit`},
		{"streams whose names differ in a slash", "streams:\n  a/b: {retention: 1d}\n  a.b: {}\n", `varve.yaml:2: streams.a/b: stream "a/b": use letters, digits, . _ - and begin with a letter or digit`},
		{"a request longer than a seal", "limits: {request: 2h}\n", "varve.yaml:1: limits.request: 2h is not shorter than retention.seal, 1h: a request could still write to a sealed table"},
		{"a seal shorter than a request", "limits: {stall: 1m}\nretention: {seal: 15m}\n", "varve.yaml:2: retention.seal: 15m is not longer than limits.request, 15m: a request could still write to a sealed table"},
		{"a seal longer than tables last", "retention: {seal: 8d}\n", "varve.yaml:1: retention.seal: 192h0m0s is not from 0 to 1w"},
		{"no data folder", "store: {dir: ''}\n", "varve.yaml:1: store.dir: the data folder is empty"},
		{"a port too large", "server: {listen: ':65536'}\n", `varve.yaml:1: server.listen: ":65536" is not an address and port, as in 127.0.0.1:8278`},
		{"too many fields", "limits: {series_fields: 10001}\n", "varve.yaml:1: limits.series_fields: 10001 is too much: it must be at most 10000"},
		{"a size of nothing", "limits: {body: 0KiB}\n", "varve.yaml:1: limits.body: 0 is too little: it must be more than 0"},
		{"too much memory", "store: {memory: 2GiB}\n", "varve.yaml:1: store.memory: 2GiB is too much: it must be at most 512MiB"},
		{"a time zone in the schedule", "retention: {schedule: 'TZ=UTC @daily'}\n", `varve.yaml:1: retention.schedule: schedule "TZ=UTC @daily": schedules are in UTC, leave the time zone out`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := mistakes(t, config.Source{File: file(t, tt.yaml)}); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestLoad_AcceptsEmptyParts checks that empty files and groups, comments, aliases and omitted
// values are valid.
func TestLoad_AcceptsEmptyParts(t *testing.T) {
	for reason, yaml := range map[string]string{
		"nothing": "", "a comment": "# log: {level: loud}\n", "an end": "---\n", "null": "null\n", "nothing in a map": "{}\n",
		"an empty group":   "server:\nlog: {}\nclasses:\nstreams: {}\n",
		"a value left out": "log:\n  level:\n", "a start": "---\nlog: {level: info}\n", "an end of it": "log: {level: info}\n...\n",
		"an alias": "log: {level: &x info}\nstore: {dir: *x}\n", "a group used twice": "streams:\n  a: &s {retention: 1d}\n  b: *s\n",
	} {
		t.Run(reason, func(t *testing.T) {
			if got := mistakes(t, config.Source{File: file(t, yaml)}); got != "" {
				t.Error(got)
			}
		})
	}
}

// TestMistakes_AreReportedIfOverridden checks that a mistake in one layer is reported even if the next
// layer overrides it.
func TestMistakes_AreReportedIfOverridden(t *testing.T) {
	environ := []string{"VARVE_LOG_LEVEL=info", "VARVE_SERVER_LISTEN=127.0.0.1:1"}
	got := mistakes(t, config.Source{File: file(t, "server: 5\nlog: {level: {x: 1}}\n"), Environ: environ})
	want := "varve.yaml:1: server: unknown setting: varve config print lists all settings\n" +
		"varve.yaml:2: log.level.x: unknown setting: did you mean log.level?"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestVariables_AreParsed(t *testing.T) {
	for environ, want := range map[string]string{
		"VARVE_LOG_LEVEL=":                  `VARVE_LOG_LEVEL: log.level: "" is unknown: use debug or info or warn or error`,
		"varve_log_level=info":              "",
		"VARVE_CLASSES_A_B_RETENTION=1d":    "VARVE_CLASSES_A_B_RETENTION: classes.a_b: a class is named with letters and digits",
		"VARVE_STREAMS_X_CLASS=nope":        `VARVE_STREAMS_X_CLASS: streams.x.class: "nope" is not configured: use one of default`,
		"VARVE_TABLES_RECENT_WEEKS=53":      "VARVE_TABLES_RECENT_WEEKS: tables.recent_weeks: 53 is not from 0 to 52 weeks",
		"VARVE_TABLES_MONTHS_AHEAD=0":       `VARVE_TABLES_MONTHS_AHEAD: tables.months_ahead: "0" is not a whole number from 1 on`,
		"VARVE_TABLES_MONTHS_AHEAD=12":      "",
		"VARVE_TABLES_MONTHS_AHEAD=13":      "VARVE_TABLES_MONTHS_AHEAD: tables.months_ahead: 13 is too much: it must be at most 12",
		"VARVE_STORE_MIN_FREE=a=b":          `VARVE_STORE_MIN_FREE: store.min_free: "a=b" is not a size: write bytes, or a number with KiB, MiB or GiB`,
		"VARVE_CLASSES_DEFAULT_RETENTION=x": `VARVE_CLASSES_DEFAULT_RETENTION: classes.default.retention: "x" is not a duration: write forever, or numbers with y, w, d, h, m, s as in 90d or 1d12h`,
	} {
		if got := mistakes(t, config.Source{Environ: []string{environ}}); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", environ, got, want)
		}
	}
}

// TestLoad_RequiresNamedFile checks that a named file must exist, unlike the default file. Other
// failures are always reported.
func TestLoad_RequiresNamedFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const missing = "varve.yaml"
	if got := mistakes(t, config.Source{File: missing}); got != "" {
		t.Errorf("the usual file is not there: %s", got)
	}
	if got, want := mistakes(t, config.Source{File: missing, Required: true}), "varve.yaml: no such file or directory"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := os.Mkdir(missing, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, want := mistakes(t, config.Source{File: missing}), "varve.yaml: is a directory"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLoad_ReturnsValidSettingsDespiteMistakes(t *testing.T) {
	loaded, err := config.Load(config.Source{File: file(t, "log: {level: debug, format: xml}\n")})
	var all config.Mistakes
	if !errors.As(err, &all) || len(all) != 1 || all[0].Key != "log.format" {
		t.Errorf("got %v", err)
	}
	if loaded.Log.Level != "debug" || loaded.Log.Format != "console" {
		t.Errorf("got %+v", loaded.Log)
	}
}

// FuzzLoad checks that Load reads any file or returns its mistakes, and that the printed settings equal
// the read ones.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		everything, "server: &a\n  x: *a\n", "- a\n", "{}\n---\n{}\n", "? [a]\n: b\n", "\"\": {\"\": {\"\": 1}}\n", "classes: {\"\": {retention: 1d}}\n",
		"streams: {x: {class: {retention: 1d}}}\n", "log: !!binary aGk=\n", "limits: {body: 0x10}\n", "a: b: c\n", "streams: {x.class: 5}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, yaml string) {
		if strings.Count(yaml, "*") > 3 {
			return // nested YAML aliases grow exponentially
		}
		src := config.Source{File: file(t, yaml)}
		if mistakes(t, src) != "" {
			return
		}
		loaded, _ := config.Load(src)
		values, names := map[string]string{}, map[string]string{}
		for _, v := range loaded.Values() {
			values[v.Key], names[v.Key] = v.Value, "--set"
		}
		again, err := config.Load(config.Source{Flags: values, FlagNames: names})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range again.Values() {
			if was := loaded.Values()[i]; v.Key != was.Key || v.Value != was.Value {
				t.Fatalf("%s is %s, read again %s is %s", was.Key, was.Value, v.Key, v.Value)
			}
		}
	})
}
