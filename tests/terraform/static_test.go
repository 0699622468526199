package terraform_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/hashicorp/hcl/v2"
)

var update = flag.Bool("update", false, "write the README tables of the modules anew")

// folders returns the folders of the root module, the modules and the examples, as paths relative
// to the root module.
func folders(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, pattern := range []string{".", "modules/*", "examples/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			rel, err := filepath.Rel(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, rel)
		}
	}
	if len(all) < 8 {
		t.Fatalf("only %v were found", all)
	}
	return all
}

// TestTargetGroup_ChecksLiveness checks that the module service-ecs has no health check with /readyz. ECS
// replaces tasks that fail a health check, and all tasks fail /readyz while DynamoDB is unreachable.
func TestTargetGroup_ChecksLiveness(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(modules, "modules", "service-ecs", "*.tf"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), "/readyz") {
			t.Errorf("%s: %v, or it has /readyz", name, err)
		}
	}
}

func TestModules_AreFormatted(t *testing.T) {
	if out, err := run(t, modules, environment(t, ""), "terraform", "fmt", "-check", "-diff", "-recursive"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestModules_AreValid checks that terraform validate accepts each module and each example, without
// warnings.
func TestModules_AreValid(t *testing.T) {
	dir := copied(t)
	all := folders(t, dir)
	if testing.Short() {
		all = []string{".", "examples/local"} // these and the plans of other tests contain all modules
	}
	for _, folder := range all {
		t.Run(folder, func(t *testing.T) {
			o := options(t, filepath.Join(dir, folder), "", nil)
			initialize(t, o)
			out, err := run(t, o.TerraformDir, o.EnvVars, "terraform", "validate", "-json")
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Valid       bool
				Diagnostics []json.RawMessage
			}
			if err := json.Unmarshal([]byte(out), &answer); err != nil || !answer.Valid || len(answer.Diagnostics) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestModules_HaveNoLintFindings checks that tflint has no findings, with all its own rules and its
// rules for AWS.
func TestModules_HaveNoLintFindings(t *testing.T) {
	dir := copied(t)
	env := map[string]string{"TFLINT_PLUGIN_DIR": filepath.Dir(tool(t, "plugins/tflint-ruleset-aws"))}
	if _, err := run(t, dir, env, tool(t, "bin/tflint"), "--recursive", "--no-color", "--config="+filepath.Join(dir, ".tflint.hcl")); err != nil {
		t.Error(err)
	}
	// The rules must be active: they must detect an instance type that AWS does not have.
	wrong := filepath.Join(dir, "modules", "ingest", "wrong.tf")
	if err := os.WriteFile(wrong, []byte("resource \"aws_instance\" \"wrong\" {\n  ami           = \"ami-0\"\n  instance_type = \"t1.none\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, dir, env, tool(t, "bin/tflint"), "--recursive", "--no-color", "--config="+filepath.Join(dir, ".tflint.hcl")); err == nil || !strings.Contains(out, "aws_instance_invalid_type") {
		t.Errorf("a mistake was not detected: %s", out)
	}
}

// TestReadmes_MatchModules checks that the generated tables in the READMEs match the variables and
// outputs.
func TestReadmes_MatchModules(t *testing.T) {
	dir := modules
	if !*update {
		dir = copied(t)
	}
	check := func(folder string) error {
		args := []string{"-c", filepath.Join(dir, ".terraform-docs.yml"), "--output-check", filepath.Join(dir, folder)}
		if *update {
			args = slices.Delete(args, 2, 3)
		}
		_, err := run(t, ".", nil, tool(t, "bin/terraform-docs"), args...)
		return err
	}
	for _, folder := range folders(t, dir) {
		if err := check(folder); err != nil {
			t.Errorf("%s: run this test with -update: %v", folder, err)
		}
	}
	if *update {
		return
	}
	// The check must be active: it must detect a variable that is missing in the README.
	more := filepath.Join(dir, "modules", "ingest", "more.tf")
	if err := os.WriteFile(more, []byte("variable \"more\" {\n  type = string\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if check("modules/ingest") == nil {
		t.Error("a variable that is missing in the README was not detected")
	}
}

// TestModules_FollowHygiene checks that each module follows the rules of the function hygiene.
func TestModules_FollowHygiene(t *testing.T) {
	dir := copied(t)
	for _, folder := range folders(t, dir) {
		for _, wrong := range hygiene(t, dir, folder) {
			t.Errorf("%s: %s", folder, wrong)
		}
	}
}

// TestHygiene_FindsBrokenRules breaks each rule in a module. The check must report the broken rule.
func TestHygiene_FindsBrokenRules(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"more.tf", "", "five files"},
		{".terraform.lock.hcl", "", "lock file"},
		{"main.tf", "provider \"aws\" {\n  region = \"eu-central-1\"\n}\n", "provider"},
		{"versions.tf", "terraform {\n  required_version = \">= 1.5\"\n}\n", "required_version"},
		{"versions.tf", "terraform {\n  required_version = \">= 1.9\"\n  required_providers {\n    aws = {\n      source = \"hashicorp/aws\"\n      version = \">= 5\"\n    }\n  }\n}\n", "provider's version"},
		{"variables.tf", "variable \"x\" {\n  description = \"Something.\"\n}\n", "no type"},
		{"variables.tf", "variable \"x\" {\n  type = bool\n  nullable = false\n}\n", "no description"},
		{"variables.tf", "variable \"x\" {\n  description = \"Something.\"\n  type = string\n}\n", "not validated"},
		{"variables.tf", "variable \"x\" {\n  description = \"Something.\"\n  type = bool\n}\n", "may be null"},
		{"outputs.tf", "output \"x\" {\n  value = 1\n}\n", "no description"},
		{"main.tf", "locals {\n  key = \"AKIAIOSFODNN7EXAMPLE\"\n}\n", "credentials"},
	} {
		t.Run(c.want, func(t *testing.T) {
			dir := copied(t)
			if err := os.WriteFile(filepath.Join(dir, "modules", "ingest", c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if wrong := strings.Join(hygiene(t, dir, "modules/ingest"), "\n"); !strings.Contains(wrong, c.want) {
				t.Errorf("the breach was not detected: %q", wrong)
			}
		})
	}
}

var credentials = regexp.MustCompile(`(?i)AKIA[0-9A-Z]{16}|access_key|secret_key`)

var wantedFiles = []string{"README.md", "main.tf", "outputs.tf", "variables.tf", "versions.tf"}

func hygiene(t *testing.T, dir, folder string) (wrong []string) {
	t.Helper()
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		switch {
		case e.Name() == ".terraform.lock.hcl":
			bad("a lock file exists")
		case !e.IsDir() && !strings.HasPrefix(e.Name(), "."):
			files = append(files, e.Name())
		}
	}
	if !slices.Equal(files, wantedFiles) {
		bad("a module has five files, %v, not %v", wantedFiles, files)
	}
	example := strings.HasPrefix(folder, "examples")
	for _, name := range files {
		if filepath.Ext(name) != ".tf" {
			continue
		}
		path := filepath.Join(dir, folder, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if credentials.Match(text) {
			bad("%s has credentials in it", name)
		}
		file, diags := hclsyntax.ParseConfig(text, path, hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, b := range file.Body.(*hclsyntax.Body).Blocks {
			wrong = append(wrong, block(b, text, example)...)
		}
	}
	return wrong
}

// block returns the faults of one block in a file of a module.
func block(b *hclsyntax.Block, text []byte, example bool) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	source := func(attribute string) string {
		if a := b.Body.Attributes[attribute]; a != nil {
			return string(a.Expr.Range().SliceBytes(text))
		}
		return ""
	}
	name := strings.Join(b.Labels, " ")
	switch b.Type {
	case "variable":
		validated := slices.ContainsFunc(b.Body.Blocks, func(in *hclsyntax.Block) bool { return in.Type == "validation" })
		switch kind := source("type"); {
		case kind == "":
			bad("variable %s has no type", name)
		case kind == "bool" && source("nullable") != "false":
			bad("variable %s may be null: set nullable to false", name)
		case kind != "bool" && !validated:
			bad("variable %s is not validated", name)
		}
		if len(source("description")) < 5 {
			bad("variable %s has no description", name)
		}
	case "output":
		if len(source("description")) < 5 {
			bad("output %s has no description", name)
		}
	case "provider":
		if !example {
			bad("a provider block exists: it belongs to the user of the module")
		}
	case "terraform":
		if source("required_version") != `">= 1.9"` {
			bad("required_version is %s", source("required_version"))
		}
		if !strings.Contains(string(text), `">= 6.33, < 7.0"`) {
			bad("the AWS provider's version is not >= 6.33, < 7.0")
		}
	}
	return wrong
}

// TestModules_HaveOnlyExpectedFiles checks that the folder of the modules has only files of the
// expected kinds, and no state of Terraform.
func TestModules_HaveOnlyExpectedFiles(t *testing.T) {
	err := fs.WalkDir(os.DirFS(modules), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		known := []string{".tf", ".md", ".hcl", ".yml"}
		if d.Name() == ".terraform" || strings.Contains(d.Name(), "tfstate") || !d.IsDir() && !slices.Contains(known, filepath.Ext(path)) {
			t.Errorf("%s does not belong in this folder", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
