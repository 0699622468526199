package terraform_test

import (
	"os"
	"testing"

	"github.com/gruntwork-io/terratest/modules/logger"
)

// TestMain silences terratest, which returns failures as errors.
func TestMain(m *testing.M) {
	logger.Default = logger.Discard
	os.Exit(m.Run()) //nolint:forbidigo // a TestMain must do this
}
