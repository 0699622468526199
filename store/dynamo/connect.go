package dynamo

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
)

// ConnectOptions are the settings of Connect. All are optional.
type ConnectOptions struct {
	// Region is the AWS region. If empty, it is the region of the environment.
	Region string
	// Endpoint is the URL of an emulator. If empty, requests are sent to AWS.
	Endpoint string
	// Attempts is the largest number of attempts for each request. 0 means the limit of
	// NewRetryer.
	Attempts int
}

// Connect returns a client for the options. It sends no request to DynamoDB. For AWS, it uses the
// default credentials, and the default region if o.Region is empty. For an emulator, placeholders
// replace credentials and a region that the environment lacks.
func Connect(ctx context.Context, o ConnectOptions) (*dynamodb.Client, error) {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithHTTPClient(HTTPClient()),
		awsconfig.WithLogger(logging.Nop{}), // errors contain every failure that the SDK would log
		awsconfig.WithRetryer(NewRetryer),
	}
	if o.Region != "" {
		options = append(options, awsconfig.WithRegion(o.Region))
	}
	if o.Endpoint != "" {
		options = append(options, emulated(o.Endpoint)...)
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS region: set AWS_REGION, or store.region")
	}
	c := dynamodb.NewFromConfig(cfg, func(d *dynamodb.Options) {
		// Emulators send no checksums, and the SDK would log a warning for each answer.
		d.DisableValidateResponseChecksum = o.Endpoint != ""
	})
	if o.Attempts > 0 {
		c = dynamodb.New(c.Options(), func(d *dynamodb.Options) {
			d.Retryer = retry.AddWithMaxAttempts(d.Retryer, o.Attempts)
		})
	}
	return c, nil
}

// emulated returns the client options for an emulator. With them, a client uses the credentials of
// the environment, or placeholders. It never sends requests to the metadata service of EC2.
func emulated(endpoint string) []func(*awsconfig.LoadOptions) error {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithBaseEndpoint(endpoint), awsconfig.WithDefaultRegion("us-east-1"),
		awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled),
	}
	if os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
		options = append(options, awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("emulator", "emulator", "")))
	}
	return options
}
