package terraform_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gruntwork-io/terratest/modules/logger"
	"github.com/gruntwork-io/terratest/modules/terraform"

	"github.com/varvedb/varve/tests/varvetest"
)

// The account and the region of the plans.
const (
	account = "123456789012"
	region  = "eu-central-1"
)

// modules is the folder of the Terraform modules. Tests use copies of it.
const modules = "../../terraform"

// cached returns the path in the user's cache at which tools.sh stores a file. The file may be missing.
func cached(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "varve", "terraform", name), nil
}

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := cached(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run tests/terraform/tools.sh", err)
	}
	return path
}

func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "terraform")
	if err := os.CopyFS(dir, os.DirFS(modules)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// options returns the options to run Terraform in a folder. No request is sent to AWS. A fake of
// STS returns the identity of the caller, and the test sets the address of DynamoDB.
func options(t *testing.T, dir, dynamodb string, vars map[string]any) *terraform.Options {
	t.Helper()
	return &terraform.Options{
		TerraformDir: dir,
		Vars:         vars,
		NoColor:      true,
		Lock:         true,
		Logger:       logger.Discard,
		EnvVars:      environment(t, dynamodb),
	}
}

func environment(t *testing.T, dynamodb string) map[string]string {
	t.Helper()
	return map[string]string{
		"TF_CLI_CONFIG_FILE": tool(t, "terraformrc"), "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1", "TF_PLUGIN_CACHE_DIR": "",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_REGION": region, "AWS_DEFAULT_REGION": region, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_ENDPOINT_URL_STS": identity(t), "AWS_ENDPOINT_URL_DYNAMODB": dynamodb,
	}
}

// identity starts a fake of STS and returns its address. For the fake, every caller is the root
// user of the account.
func identity(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>`+
			`<Arn>arn:aws:iam::%[1]s:root</Arn><UserId>%[1]s</UserId><Account>%[1]s</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`, account)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// empty starts a fake of DynamoDB that has no tables, and returns its address.
func empty(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// planned is a plan with the output of terraform plan.
type planned struct {
	*terraform.PlanStruct
	text string
}

func planOf(t *testing.T, o *terraform.Options) *planned {
	t.Helper()
	p, err := planE(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planE(t *testing.T, o *terraform.Options) (*planned, error) {
	own := *o
	own.PlanFilePath = filepath.Join(t.TempDir(), "plan")
	text, err := terraform.PlanContextE(t, t.Context(), &own)
	if err != nil {
		return nil, err
	}
	shown, err := terraform.ShowContextE(t, t.Context(), &own)
	if err != nil {
		return nil, err
	}
	p, err := terraform.ParsePlanJSON(shown)
	return &planned{p, text}, err
}

func initialize(t *testing.T, o *terraform.Options) {
	t.Helper()
	if _, err := terraform.InitContextE(t, t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir string, env map[string]string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	for k, v := range maps.All(env) {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}

// free returns an address with a free port.
func free(t *testing.T) string {
	t.Helper()
	address, err := varvetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
