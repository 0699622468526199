package terraform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestModules_PassNativeTests runs the modules' own tests, which Terraform executes. They cover the
// validations, and the values that modules pass to each other.
func TestModules_PassNativeTests(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	dir := copied(t)
	o := options(t, dir, empty(t), nil)
	initialize(t, o)
	out, err := run(t, dir, o.EnvVars, "terraform", "test", "-no-color")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "0 failed") || strings.Contains(out, "Warning:") {
		t.Error(out)
	}
}

// TestValidations_HaveTests checks that each validation has a test with an invalid value.
func TestValidations_HaveTests(t *testing.T) {
	dir := copied(t)
	for _, folder := range folders(t, dir) {
		if strings.HasPrefix(folder, "examples") {
			continue // the examples have no validations of their own
		}
		name := filepath.Base(folder)
		if folder == "." {
			name = "root"
		}
		rejected := rejections(t, filepath.Join(dir, "tests", name+".tftest.hcl"))
		for variable, n := range validations(t, filepath.Join(dir, folder, "variables.tf")) {
			if rejected[variable] < n {
				t.Errorf("%s: the variable %s has %d validations, and %d bad values are tried", folder, variable, n, rejected[variable])
			}
		}
	}
}

var expected = regexp.MustCompile(`expect_failures = \[var\.(\w+)\]`)

// rejections returns the number of tests with an invalid value for each variable in a file.
func rejections(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, m := range expected.FindAllStringSubmatch(string(text), -1) {
		all[m[1]]++
	}
	return all
}

// validations returns the number of validations of each variable in a file.
func validations(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, diags := hclsyntax.ParseConfig(text, path, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	all := map[string]int{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		for _, in := range b.Body.Blocks {
			if in.Type == "validation" {
				all[b.Labels[0]]++
			}
		}
	}
	return all
}
