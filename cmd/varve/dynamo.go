package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store/dynamo"
)

// dynamoOptions returns the options of the store. On AWS it uses the default
// credentials and region; on an emulator, placeholders.
func dynamoOptions(ctx context.Context, c *config.Config) (o dynamo.Options, err error) {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithHTTPClient(dynamo.HTTPClient()),
		awsconfig.WithLogger(logging.Nop{}), // the errors contain all failures
		awsconfig.WithRetryer(dynamo.NewRetryer),
	}
	if c.Store.Region != "" {
		options = append(options, awsconfig.WithRegion(c.Store.Region))
	}
	if c.Store.Endpoint != "" {
		options = append(options, emulated(c.Store.Endpoint)...)
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return o, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return o, errors.New("no AWS region: set AWS_REGION, or store.region")
	}
	return dynamo.Options{
		Client: dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
			// Emulators send no checksums, and the SDK warns of each.
			o.DisableValidateResponseChecksum = c.Store.Endpoint != ""
		}),
		Now: now, ClassOf: classOf(c.Policy()),
		Registry: cmp.Or(c.Store.Registry, c.Tables.Prefix+"_registry"),
	}, nil
}

// emulated returns the client options for an emulator: the credentials of the
// environment, or placeholders. It never asks the metadata service of EC2.
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

// classOf finds the retention class of a table's prefix.
func classOf(p *retention.Policy) func(prefix string) string {
	return func(prefix string) string {
		c, _ := p.ClassOfPrefix(prefix)
		return c.Name
	}
}

// registerUsage adds what the store uses to the metrics.
func registerUsage(reg *prometheus.Registry, s *dynamo.Store) {
	for work, of := range map[string]func(dynamo.Usage) dynamo.Use{
		"write":          func(u dynamo.Usage) dynamo.Use { return u.Writes },
		"read":           func(u dynamo.Usage) dynamo.Use { return u.Reads },
		"registry_write": func(u dynamo.Usage) dynamo.Use { return u.RegistryWrites },
		"registry_read":  func(u dynamo.Usage) dynamo.Use { return u.RegistryReads },
	} {
		counter := func(name, help string, value func(dynamo.Use) float64) {
			reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: name, Help: help, ConstLabels: prometheus.Labels{"work": work},
			}, func() float64 { return value(of(s.Usage())) }))
		}
		counter("varve_dynamodb_requests_total", "Requests that DynamoDB carried out, by kind of work.",
			func(u dynamo.Use) float64 { return float64(u.Requests) })
		counter("varve_dynamodb_units_total", "Request units that DynamoDB billed, by kind of work.",
			func(u dynamo.Use) float64 { return u.Units })
	}
}
