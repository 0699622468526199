package config_test

import (
	"github.com/varvedb/varve/config"
	"testing"
)

// TestVariables_FindNames checks that a variable applies to the configured stream or class whose name
// maps to it.
func TestVariables_FindNames(t *testing.T) {
	const yaml = "classes: {Audit: {retention: 1y}}\n" +
		"streams:\n  access-log: {}\n  Fleet.raw_2: {}\n  a.b: {}\n  a-b: {}\n"
	rows := []struct{ why, environ, key, wrong string }{
		{"a setting of two words", "VARVE_STREAMS_ACCESS_LOG_CLOCK_POLICY=quarantine", "streams.access-log.clock_policy", ""},
		{"a hyphen", "VARVE_STREAMS_ACCESS_LOG_CLASS=Audit", "streams.access-log.class", ""},
		{"a dot and capitals", "VARVE_STREAMS_FLEET_RAW_2_RETENTION=7d", "streams.Fleet.raw_2.retention", ""},
		{"a class with a capital", "VARVE_CLASSES_AUDIT_RETENTION=2y", "classes.Audit.retention", ""},
		{"named by a flag", "VARVE_STREAMS_BY_FLAG_CLASS=Audit", "streams.by-flag.class", ""},
		{"named nowhere, and plain", "VARVE_STREAMS_PLAIN_CLASS=Audit", "streams.plain.class", ""},
		{"named nowhere", "VARVE_STREAMS_NO_WHERE_CLASS=Audit", "",
			"VARVE_STREAMS_NO_WHERE_CLASS: can mean several streams, and none of them is configured: name it in the file, or use --set streams.no-where.class=…"},
		{"two that are written alike", "VARVE_STREAMS_A_B_CLASS=Audit", "",
			"VARVE_STREAMS_A_B_CLASS: can mean a-b or a.b: set it in the file, or with --set"},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			values, names := flags("streams.by-flag.retention=1d")
			src := config.Source{File: file(t, yaml), Environ: []string{row.environ}, Flags: values, FlagNames: names}
			if row.wrong != "" {
				if got := mistakes(t, src); got != row.wrong {
					t.Errorf("got  %s\nwant %s", got, row.wrong)
				}
				return
			}
			if origin := load(t, src).Origins[row.key]; origin == "" || origin[:6] != "VARVE_" {
				t.Errorf("%s is from %q", row.key, origin)
			}
		})
	}
}

// TestListen_RequiresKeysBeyondThisMachine checks which addresses count as reachable only from this
// machine. The other addresses require API keys.
func TestListen_RequiresKeysBeyondThisMachine(t *testing.T) {
	for address, loopback := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:8278": true, "localhost:80": true, "127.1.2.3:80": true,
		"0.0.0.0:8278": false, ":8278": false, "[::]:8278": false, "192.0.2.1:80": false, "example.org:80": false,
	} {
		values, names := flags("server.listen=" + address)
		if got := load(t, config.Source{Flags: values, FlagNames: names}).Server.Loopback(); got != loopback {
			t.Errorf("%s: loopback is %v", address, got)
		}
	}
}

// TestTLS_RequiresCertificateAndKey checks that a certificate without its key is a mistake, and a
// key without its certificate, too.
func TestTLS_RequiresCertificateAndKey(t *testing.T) {
	for set, want := range map[string]string{
		"server.tls_cert=c.pem": "--set server.tls_cert: server.tls_cert: requires server.tls_key",
		"server.tls_key=k.pem":  "--set server.tls_key: server.tls_key: requires server.tls_cert",
	} {
		values, names := flags(set)
		if got := mistakes(t, config.Source{Flags: values, FlagNames: names}); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}
