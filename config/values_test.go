package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve/config"
)

func TestPublicValues_ShowOriginsAndHideSecrets(t *testing.T) {
	path := file(t, `
log: {level: warn}
classes: {logs: {retention: 30d}}
store: {endpoint: "http://fleet:s3cret@127.0.0.1:8000"}
notifiers:
  ops: {kind: webhook, url: "https://hooks.example.com/services/T0/s3cret?token=s3cret", secret_env: OPS_SECRET}
`)
	loaded := load(t, config.Source{File: path, Environ: []string{"VARVE_LIMITS_READS=64"}})
	values := loaded.PublicValues()
	for _, want := range []config.Value{
		{Key: "log.level", Value: "warn", Default: "info", Origin: "varve.yaml:2"},
		{Key: "log.format", Value: "console", Default: "console", Origin: "default"},
		{Key: "limits.reads", Value: "64", Default: "512", Origin: "VARVE_LIMITS_READS"},
		{Key: "classes.default.retention", Value: "1y", Default: "1y", Origin: "default"},
		{Key: "classes.logs.retention", Value: "30d", Origin: "varve.yaml:3"},
		{Key: "store.endpoint", Value: "http://fleet:hidden@127.0.0.1:8000", Origin: "varve.yaml:4"},
		{Key: "notifiers.ops.url", Value: "https://hooks.example.com/hidden?hidden", Origin: "varve.yaml:6"},
		{Key: "notifiers.ops.secret_env", Value: "OPS_SECRET", Origin: "varve.yaml:6"},
	} {
		i := slices.IndexFunc(values, func(v config.Value) bool { return v.Key == want.Key })
		if i < 0 {
			t.Errorf("%s is missing", want.Key)
			continue
		}
		got := values[i]
		if got.Doc == "" {
			t.Errorf("%s has no description", want.Key)
		}
		if got.Doc = ""; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	for _, v := range values {
		if strings.Contains(v.Value, "s3cret") {
			t.Errorf("%s shows a secret: %s", v.Key, v.Value)
		}
	}
}
