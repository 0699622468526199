package kinesis_test

import (
	"testing"

	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/kinesis"
)

// TestNewClient_ChoosesRegion checks that a configured region comes before the one in the ARN, and that
// a client needs one of them.
func TestNewClient_ChoosesRegion(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_CONFIG_FILE", "missing")
	for _, c := range []struct{ stream, region, want string }{
		{"arn:aws:kinesis:eu-central-1:123456789012:stream/readings", "", "eu-central-1"},
		{"arn:aws:kinesis:eu-central-1:123456789012:stream/readings", "us-west-2", "us-west-2"},
		{"readings", "us-west-2", "us-west-2"},
	} {
		client, err := kinesis.NewClient(t.Context(), c.stream, consumer.Connection{Region: c.region})
		if err != nil {
			t.Errorf("%s with region %q: %v", c.stream, c.region, err)
			continue
		}
		if got := client.Options().Region; got != c.want {
			t.Errorf("%s with region %q: %q, want %q", c.stream, c.region, got, c.want)
		}
	}
	if _, err := kinesis.NewClient(t.Context(), "readings", consumer.Connection{}); err == nil {
		t.Error("a client without a region has no error")
	}
}
