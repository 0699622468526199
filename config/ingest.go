package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/ingest/records"
)

// Ingest configures the consumers of queues and streams.
type Ingest struct {
	SQS     SQS
	Kinesis Kinesis
}

// SQS configures the consumer of a queue of Amazon SQS.
type SQS struct {
	Queue     string // URL of the queue; if empty, no queue is read
	Receivers int    // number of concurrent requests for messages
	Records
}

// Kinesis configures the consumer of a stream of Amazon Kinesis.
type Kinesis struct {
	Name string // name or ARN of the Kinesis stream; if empty, none is read
	Records
}

// Records configures the readings in the records of a consumer.
type Records struct {
	Tenant string
	Stream string // Varve's stream for the readings; empty for line protocol, whose lines name it
	Format string // json, ndjson or line
	Params string // parameters of a write, as in precision=ms&time=arrival
	// Region and Endpoint locate the queue or stream. If Region is empty, it comes from the URL or ARN of
	// the queue or stream, from AWS_REGION or from the profile. If Endpoint is empty, requests go to AWS.
	Region, Endpoint string
}

func defaultIngest() Ingest {
	r := Records{Tenant: varve.DefaultTenant, Format: "json"}
	return Ingest{SQS: SQS{Receivers: 4, Records: r}, Kinesis: Kinesis{Records: r}}
}

// Target returns the destination of the records.
func (r *Records) Target() (*records.Target, error) {
	q, err := url.ParseQuery(r.Params)
	if err != nil {
		return nil, varve.InvalidParam("params", "not parameters of a write, as in precision=ms&time=arrival: %s", err)
	}
	for _, name := range []string{"stream", "format"} {
		if q.Has(name) {
			return nil, varve.InvalidParam("params", "contains %s: use the setting %s instead", name, name)
		}
	}
	q.Set("format", r.Format)
	if r.Stream != "" {
		q.Set("stream", r.Stream)
	}
	t, err := records.ParseTarget(r.Tenant, q)
	var e *varve.Error
	if errors.As(err, &e) && e.Param != "stream" && e.Param != "format" {
		return nil, varve.InvalidParam("params", "%s: %s", e.Param, e.Message)
	}
	return t, err
}

// recordSettings returns the settings of a consumer's records. Their keys begin with the group. The function
// "at" returns the Records that they set.
func recordSettings(group string, at func(*Config) *Records) []setting {
	return []setting{
		text(group+".stream", "stream of the readings; with line protocol, if empty, the measurement", func(c *Config) *string { return &at(c).Stream }, nil),
		text(group+".format", "format of the records: json, ndjson or line", func(c *Config) *string { return &at(c).Format }, oneOf("json", "ndjson", "line")),
		text(group+".params", "parameters of the readings, as of a write over HTTP: "+strings.Join(records.Params, ", ")+", as in precision=ms&time=arrival",
			func(c *Config) *string { return &at(c).Params }, nil),
		text(group+".tenant", "tenant of the readings", func(c *Config) *string { return &at(c).Tenant }, func(s string) error { return varve.ValidateName("tenant", s) }),
		text(group+".region", "region; if empty, the one in the name, AWS_REGION or the profile", func(c *Config) *string { return &at(c).Region }, nil),
		text(group+".endpoint", "address of an emulator; if empty, AWS", func(c *Config) *string { return &at(c).Endpoint }, checkEndpoint),
	}
}

const maxReceivers = 64

func ingestSettings() []setting {
	all := []setting{
		text("ingest.kinesis.name", "name or ARN of the Kinesis stream whose records are stored; if empty, none", func(c *Config) *string { return &c.Ingest.Kinesis.Name }, checkKinesis),
		text("ingest.sqs.queue", "URL of the queue of SQS whose messages are stored; if empty, none", func(c *Config) *string { return &c.Ingest.SQS.Queue }, checkQueue),
		most(maxReceivers, whole("ingest.sqs.receivers", "requests for messages at the same time", 1, func(c *Config) *int { return &c.Ingest.SQS.Receivers })),
	}
	all = append(all, recordSettings("ingest.kinesis", func(c *Config) *Records { return &c.Ingest.Kinesis.Records })...)
	return append(all, recordSettings("ingest.sqs", func(c *Config) *Records { return &c.Ingest.SQS.Records })...)
}

var kinesisName = regexp.MustCompile(`^(arn:[a-z0-9-]+:kinesis:[a-z0-9-]+:[0-9]{12}:stream/)?[A-Za-z0-9_.-]{1,128}$`)

func checkKinesis(s string) error {
	if s != "" && !kinesisName.MatchString(s) {
		return fmt.Errorf("%q is not a Kinesis stream: use its name or its ARN", s)
	}
	return nil
}

func checkQueue(s string) error {
	u, err := url.Parse(s)
	if s != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") == "") {
		return fmt.Errorf("%q is not the URL of a queue, as in https://sqs.eu-central-1.amazonaws.com/123456789012/readings", s)
	}
	return nil
}

// validateIngest checks, for each consumer, the settings that depend on each other.
func (l *loader) validateIngest(c *Config) {
	for _, consumer := range []struct {
		group, source, key string
		records            *Records
	}{
		{"ingest.kinesis", c.Ingest.Kinesis.Name, "name", &c.Ingest.Kinesis.Records},
		{"ingest.sqs", c.Ingest.SQS.Queue, "queue", &c.Ingest.SQS.Records},
	} {
		key := consumer.group + "."
		if consumer.source == "" {
			if consumer.records.Stream != "" {
				l.mistake(l.originOf(key+"stream"), key+"stream", "requires %s%s", key, consumer.key)
			}
			continue
		}
		_, err := consumer.records.Target()
		var e *varve.Error
		if errors.As(err, &e) {
			l.mistake(l.originOf(key+e.Param), key+e.Param, "%s", e.Message)
		}
		if c.Rejects.Limit == 0 || c.Rejects.Retention == 0 {
			l.mistake(l.originOf(key+consumer.key), key+consumer.key, "requires rejects: set rejects.limit and rejects.retention to more than 0")
		}
	}
}
