package kinesis

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/varvedb/varve/ingest/consumer"
)

// NewClient returns a client that can read a Kinesis stream, named by its name or ARN. It sends no
// request. If the connection has no region, the region of the ARN applies.
func NewClient(ctx context.Context, stream string, c consumer.Connection) (*kinesis.Client, error) {
	c.Region = cmp.Or(c.Region, regionOfARN(stream))
	loaded, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	return kinesis.NewFromConfig(loaded), nil
}

// regionOfARN returns the region in an ARN, or "" for any other text.
func regionOfARN(text string) string {
	parts := strings.Split(text, ":")
	if len(parts) < 6 || parts[0] != "arn" {
		return ""
	}
	return parts[3]
}
