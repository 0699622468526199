package terraform_test

import (
	"os"
	"testing"

	"github.com/gruntwork-io/terratest/modules/logger"
)

// TestMain makes terratest quiet: what fails comes back as an error.
func TestMain(m *testing.M) {
	logger.Default = logger.Discard
	os.Exit(m.Run()) //nolint:forbidigo // what a TestMain must do
}
