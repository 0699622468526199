package dynamo_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/store/dynamo"
)

// clearAWS removes all AWS settings of the machine from the environment of a test.
func clearAWS(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_MAX_ATTEMPTS",
	} {
		t.Setenv(name, "")
	}
	empty := t.TempDir() + "/none"
	t.Setenv("AWS_CONFIG_FILE", empty)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", empty)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// TestConnect_UsesPlaceholdersOnEmulator connects to an emulator without a region. The region must be a
// placeholder. The credentials must be placeholders only if the environment has none.
func TestConnect_UsesPlaceholdersOnEmulator(t *testing.T) {
	for _, key := range []string{"", "AKIDOWN"} {
		want := "emulator"
		clearAWS(t)
		if key != "" {
			t.Setenv("AWS_ACCESS_KEY_ID", key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			want = key
		}
		client, err := dynamo.Connect(t.Context(), dynamo.ConnectOptions{Endpoint: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		o := client.Options()
		if o.Region != "us-east-1" || o.BaseEndpoint == nil || *o.BaseEndpoint != "http://127.0.0.1:1" || !o.DisableValidateResponseChecksum {
			t.Errorf("key %q: region %q, endpoint %v, no checksums %t", key, o.Region, o.BaseEndpoint, o.DisableValidateResponseChecksum)
		}
		got, err := o.Credentials.Retrieve(t.Context())
		if err != nil || got.AccessKeyID != want {
			t.Errorf("key %q: credentials of %q, %v; want %q", key, got.AccessKeyID, err, want)
		}
	}
}

// TestConnect_RequiresRegion checks that Connect fails without a region, and accepts a region from
// the options or the environment.
func TestConnect_RequiresRegion(t *testing.T) {
	clearAWS(t)
	if _, err := dynamo.Connect(t.Context(), dynamo.ConnectOptions{}); err == nil || !strings.Contains(err.Error(), "set AWS_REGION, or store.region") {
		t.Errorf("without a region: %v", err)
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	for region, want := range map[string]string{"": "eu-west-1", "eu-central-1": "eu-central-1"} {
		client, err := dynamo.Connect(t.Context(), dynamo.ConnectOptions{Region: region})
		if err != nil {
			t.Fatal(err)
		}
		if got := client.Options(); got.Region != want || got.DisableValidateResponseChecksum {
			t.Errorf("region %q: %q, no checksums %t; want %q", region, got.Region, got.DisableValidateResponseChecksum, want)
		}
	}
}

// TestConnect_LimitsAttempts checks that Attempts limits the attempts of a request, and that 0
// means the limit of NewRetryer.
func TestConnect_LimitsAttempts(t *testing.T) {
	clearAWS(t)
	for attempts, want := range map[int]int{0: dynamo.NewRetryer().MaxAttempts(), 2: 2} {
		client, err := dynamo.Connect(t.Context(), dynamo.ConnectOptions{Region: "eu-west-1", Attempts: attempts})
		if err != nil {
			t.Fatal(err)
		}
		if got := client.Options().Retryer.MaxAttempts(); got != want {
			t.Errorf("attempts %d: the retryer allows %d, want %d", attempts, got, want)
		}
	}
}
