package dynamo_test

import (
	"os"
	"testing"

	"github.com/varvedb/varve/internal/randomtest"
)

func TestMain(m *testing.M) {
	os.Exit(randomtest.RunTests(m, 30, 5)) //nolint:forbidigo // passes on the exit code of the tests
}
