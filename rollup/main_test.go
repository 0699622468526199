package rollup_test

import (
	"os"
	"testing"

	"github.com/varvedb/varve/internal/randomtest"
)

func TestMain(m *testing.M) {
	os.Exit(randomtest.RunTests(m, 100, 100)) //nolint:forbidigo // the exit code of the tests
}
