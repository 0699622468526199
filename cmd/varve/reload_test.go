package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve/config"
)

// TestReload_ReportsChanges rereads configurations. The log level must apply to loggers that exist,
// other changes must be named, and a mistake must change nothing.
func TestReload_ReportsChanges(t *testing.T) {
	var out bytes.Buffer
	next := &config.Loaded{Config: config.Default(), Origins: map[string]string{"log.level": "varve.yaml:1", "limits.reads": "varve.yaml:2"}}
	var fails error
	level := newLevelSwitch("error")
	log := zerolog.New(&out).Level(zerolog.TraceLevel).Sample(level)
	derived := log.With().Str("part", "store").Logger()
	r := reloader{running: config.Loaded{Config: config.Default(), Origins: map[string]string{}}, level: level, log: log, reread: func() (*config.Loaded, error) { return next, fails }}
	reload := func() string {
		t.Helper()
		out.Reset()
		r.reload()
		return out.String()
	}
	derived.Info().Msg("before")
	if out.Len() > 0 {
		t.Fatalf("level error logs %s", &out)
	}
	next.Log.Level = "debug"
	next.Limits.Reads = 7
	next.Classes = map[string]config.Class{"default": next.Classes["default"], "audit": {Retention: 1e15}}
	next.Warnings = []config.Mistake{{Origin: "VARVE_X", Message: "not a setting"}}
	got := reload()
	if !strings.Contains(got, `"reloaded":["log.level"],"needs_restart":["classes.audit.retention","limits.reads"],"level":"debug"`) {
		t.Errorf("reloaded: %s", got)
	}
	for _, s := range r.settings() {
		if s.Key == "log.level" && (s.Value != "debug" || s.Default != "info" || s.Origin != "varve.yaml:1") {
			t.Errorf("a reloaded setting is listed as %+v", s)
		}
		if s.Key == "limits.reads" && (s.Value != "512" || s.Origin != "default") {
			t.Errorf("a setting that needs a restart is listed as %+v", s)
		}
	}
	derived.Debug().Msg("after")
	if !strings.Contains(out.String(), `"message":"after"`) {
		t.Errorf("level debug does not log: %s", &out)
	}
	next.Log.Level, fails = "error", config.Mistakes{{Origin: "varve.yaml:1", Key: "log.level", Message: "is unknown"}}
	if got = reload(); !strings.Contains(got, "varve.yaml:1: log.level: is unknown") || !strings.Contains(got, `"message":"configuration not reloaded"`) {
		t.Errorf("a mistake: %s", got)
	}
	out.Reset()
	if derived.Debug().Msg("still"); out.Len() == 0 {
		t.Error("a mistake changed the level")
	}
	fails = nil
	next.Server.TLSCert, next.Server.TLSKey = "cert.pem", "key.pem" // TLS is turned on only by a restart
	if got = reload(); !strings.Contains(got, `"server.tls_cert","server.tls_key"],"level":"error"`) || strings.Contains(got, "certificate not reloaded") {
		t.Errorf("a first certificate: %s", got)
	}
}
