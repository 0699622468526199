package consumer

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/smithy-go/logging"
)

// Connection configures an AWS client.
type Connection struct {
	Region   string // region of AWS; if empty, the environment or the profile has it
	Endpoint string // URL of an emulator; if empty, requests go to AWS
}

// Load returns the configuration of a client. It sends no request. For AWS, it has the default
// credentials. For an emulator, it has placeholders if the environment has none.
func (c Connection) Load(ctx context.Context) (aws.Config, error) {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithLogger(logging.Nop{}), // errors contain every failure that the SDK would log
	}
	if c.Region != "" {
		options = append(options, awsconfig.WithRegion(c.Region))
	}
	if c.Endpoint != "" {
		options = append(options, awsconfig.WithBaseEndpoint(c.Endpoint), awsconfig.WithDefaultRegion("us-east-1"),
			awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled))
		if os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
			options = append(options, awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("emulator", "emulator", "")))
		}
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return loaded, fmt.Errorf("AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return loaded, errors.New("no AWS region: set AWS_REGION, or the setting region of the consumer")
	}
	return loaded, nil
}
