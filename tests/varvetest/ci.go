package varvetest

import (
	"os"
	"testing"
)

// SkipOutsideCI skips a test for which the machine lacks something. With CI=true, it fails the test.
func SkipOutsideCI(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
