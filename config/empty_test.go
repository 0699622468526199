package config_test

import (
	"github.com/varvedb/varve/config"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoad_RefusesEmptyNamedFile checks that a named file without content is a mistake, because the
// program that writes it may have failed. The default file may be empty.
func TestLoad_RefusesEmptyNamedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "varve.json")
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(config.Source{File: file, Required: true}); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("named: %v", err)
	}
	if _, err := config.Load(config.Source{File: file}); err != nil {
		t.Errorf("by itself: %v", err)
	}
}
