package sqs_test

import (
	"testing"

	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/sqs"
)

// TestNewClient_ChoosesRegion checks that a configured region comes before the one in the URL, and that
// a client needs one of them.
func TestNewClient_ChoosesRegion(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_CONFIG_FILE", "missing")
	for _, c := range []struct{ queue, region, want string }{
		{"https://sqs.eu-central-1.amazonaws.com/123456789012/readings", "", "eu-central-1"},
		{"https://sqs.eu-central-1.amazonaws.com/123456789012/readings", "us-west-2", "us-west-2"},
		{"http://127.0.0.1:4566/000000000000/readings", "us-west-2", "us-west-2"},
	} {
		client, err := sqs.NewClient(t.Context(), c.queue, consumer.Connection{Region: c.region})
		if err != nil {
			t.Errorf("%s with region %q: %v", c.queue, c.region, err)
			continue
		}
		if got := client.Options().Region; got != c.want {
			t.Errorf("%s with region %q: %q, want %q", c.queue, c.region, got, c.want)
		}
	}
	if _, err := sqs.NewClient(t.Context(), "http://127.0.0.1:4566/000000000000/readings", consumer.Connection{}); err == nil {
		t.Error("a client without a region has no error")
	}
}
