package sqs

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/varvedb/varve/ingest/consumer"
)

// NewClient returns a client that can read a queue, named by its URL. It sends no request. If the
// connection has no region, the region in the URL applies.
func NewClient(ctx context.Context, queue string, c consumer.Connection) (*sqs.Client, error) {
	c.Region = cmp.Or(c.Region, regionOfQueue(queue))
	loaded, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	return sqs.NewFromConfig(loaded), nil
}

// regionOfQueue returns the region in the URL of a queue on AWS, or "".
func regionOfQueue(queue string) string {
	host := strings.TrimPrefix(queue, "https://sqs.")
	region, rest, _ := strings.Cut(host, ".")
	if host == queue || !strings.HasPrefix(rest, "amazonaws.com") {
		return ""
	}
	return region
}
