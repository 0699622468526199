package config_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/config"
)

func TestAWS_FindsMistakes(t *testing.T) {
	const queue = "https://sqs.eu-central-1.amazonaws.com/123456789012/readings"
	for _, c := range []struct {
		flags     map[string]string
		key, says string
	}{
		{map[string]string{"aws.firehose": "yes"}, "aws.firehose", "neither true nor false"},
		{map[string]string{"aws.iot.accounts": "123456789012, 12"}, "aws.iot.accounts", `"12" is not an account`},
		{map[string]string{"ingest.sqs.queue": "readings"}, "ingest.sqs.queue", "not the URL of a queue"},
		{map[string]string{"ingest.sqs.queue": queue}, "ingest.sqs.stream", "empty"},
		{map[string]string{"ingest.sqs.queue": queue, "ingest.sqs.stream": "a b"}, "ingest.sqs.stream", "a b"},
		{map[string]string{"ingest.sqs.stream": "weather"}, "ingest.sqs.stream", "requires ingest.sqs.queue"},
		{map[string]string{"ingest.sqs.queue": queue, "ingest.sqs.stream": "weather", "ingest.sqs.format": "csv"}, "ingest.sqs.format", "use json or ndjson or line"},
		{map[string]string{"ingest.sqs.queue": queue, "ingest.sqs.stream": "weather", "ingest.sqs.params": "precision=day"}, "ingest.sqs.params", "precision"},
		{map[string]string{"ingest.sqs.queue": queue, "ingest.sqs.stream": "weather", "ingest.sqs.params": "stream=b"}, "ingest.sqs.params", "use the setting stream"},
		{map[string]string{"ingest.sqs.queue": queue, "ingest.sqs.stream": "weather", "rejects.limit": "0"}, "ingest.sqs.queue", "requires rejects"},
		{map[string]string{"ingest.sqs.receivers": "100"}, "ingest.sqs.receivers", "at most 64"},
		{map[string]string{"ingest.kinesis.name": "arn:aws:sqs:eu-central-1:123456789012:readings"}, "ingest.kinesis.name", "not a Kinesis stream"},
		{map[string]string{"ingest.kinesis.name": "readings", "ingest.kinesis.tenant": "a b"}, "ingest.kinesis.tenant", "a b"},
		{map[string]string{"ingest.kinesis.endpoint": "localhost"}, "ingest.kinesis.endpoint", "not an address"},
	} {
		_, err := config.Load(config.Source{Flags: c.flags})
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%v: %v, want a mistake in %s: %s", c.flags, err, c.key, c.says)
		}
	}
	for _, flags := range []map[string]string{
		{"ingest.kinesis.name": "arn:aws:kinesis:eu-central-1:123456789012:stream/readings", "ingest.kinesis.format": "line"},
		{"ingest.sqs.queue": queue, "ingest.sqs.stream": "weather", "ingest.sqs.params": "time=arrival&precision=s"},
	} {
		if _, err := config.Load(config.Source{Flags: flags}); err != nil {
			t.Errorf("%v: %v", flags, err)
		}
	}
}
