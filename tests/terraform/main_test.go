package terraform_test

import (
	"os"
	"testing"

	"github.com/gruntwork-io/terratest/modules/logger"
)

// TestMain turns off the log of terratest. All failures are returned as errors.
func TestMain(m *testing.M) {
	logger.Default = logger.Discard
	os.Exit(m.Run()) //nolint:forbidigo // the exit code of the tests
}
