package terraform_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// check is a named function that returns the faults of a plan. TestChecks_DetectChanges shows that most of the
// checks of the complete example can fail.
type check struct {
	name string
	of   func(t *testing.T, p *planned) []string
}

// Every plan must pass the checks in "checks". The complete example must pass all in "complete",
// and the minimal example all in "minimal".
var (
	checks = []check{
		{"quiet", quiet}, {"only new", onlyNew}, {"only the registry", onlyRegistry}, {"registry", registryTable},
		{"config decodes", configDecodes}, {"narrow", narrow},
	}
	complete = append(slices.Clone(checks), []check{
		{"registry encrypted", registryEncrypted}, {"template", templateDecodes}, {"config", configComplete}, {"IAM", iamMatrix}, {"names", namesMatch},
		{"alarms", alarms}, {"dashboard", dashboard}, {"service", service}, {"archive", archive}, {"archiver", archiver},
	}...)
	minimal = append(slices.Clone(checks), check{"template is empty", templateIsEmpty})
)

// completeVars returns valid variables for the complete example.
func completeVars() map[string]any {
	return map[string]any{
		"emails": []string{"ops@example.com"}, "image": account + ".dkr.ecr." + region + ".amazonaws.com/varve:v0.1.0",
		"target_group_arn": "arn:aws:elasticloadbalancing:" + region + ":" + account + ":targetgroup/varve/1", "subnet_ids": []string{"subnet-1"}, "security_group_ids": []string{"sg-1"}, "kms_key_arn": kmsKey,
	}
}

func TestPlans_PassChecks(t *testing.T) {
	dir := copied(t)
	for _, example := range []struct {
		name   string
		folder string
		vars   map[string]any
		checks []check
	}{
		{"minimal", "examples/minimal", nil, minimal},
		{"complete", "examples/complete", completeVars(), complete},
		{"behind a proxy", ".", map[string]any{"service": map[string]any{
			"image": "varve:v0.1.0", "subnet_ids": []string{"subnet-1"}, "security_group_ids": []string{"sg-1"},
			"proxy": map[string]any{"image": "proxy:1", "port": 8443, "secrets": map[string]any{"TOKEN": secret}},
		}}, append(slices.Clone(checks), check{"proxied", proxied})},
		{"with erasures", ".", map[string]any{"erasure": true}, append(slices.Clone(checks), check{"eraser", eraser})},
	} {
		t.Run(example.name, func(t *testing.T) {
			o := options(t, filepath.Join(dir, example.folder), empty(t), example.vars)
			initialize(t, o)
			p := planOf(t, o)
			for _, c := range example.checks {
				for _, wrong := range c.of(t, p) {
					t.Errorf("%s: %s", c.name, wrong)
				}
			}
		})
	}
}

// change is a possible mistake in the modules, and the name of the check that must detect it.
type change struct {
	file, old, new string
	check          string
}

// TestChecks_DetectChanges makes one change to the modules at a time. The check that belongs to the
// change must fail.
func TestChecks_DetectChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("shows that the checks of TestPlans_PassChecks can fail; takes minutes")
	}
	dir := copied(t)
	o := options(t, filepath.Join(dir, "examples", "complete"), empty(t), completeVars())
	initialize(t, o)
	for _, c := range changes {
		t.Run(c.check+"/"+strings.TrimSpace(strings.Split(c.new+c.old, "\n")[0]), func(t *testing.T) {
			path := filepath.Join(dir, c.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(text), c.old) == 0 {
				t.Fatalf("%s has no %q", c.file, c.old)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := os.WriteFile(path, text, 0o644); err != nil {
					t.Error(err)
				}
			}()
			p, err := planE(t, o)
			if err != nil {
				t.Fatalf("the changed modules cannot be planned: %v", err)
			}
			i := slices.IndexFunc(complete, func(is check) bool { return is.name == c.check })
			if wrong := complete[i].of(t, p); len(wrong) == 0 {
				t.Errorf("the check %s did not detect the change from\n%s\nto\n%s", c.check, c.old, c.new)
			} else {
				t.Log(wrong[0])
			}
		})
	}
}
