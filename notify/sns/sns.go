// Package sns delivers alerts to a topic of Amazon SNS.
//
//	notify.Sender ── Notifier ── Publish ──▶ topic ── queues, functions, mail …
//
// [Notifier] publishes each message with its id, type and severity as attributes. On a FIFO topic,
// messages about a device are in order, and SNS drops copies that follow within five minutes.
//
// An answer with a 4xx status, as for a missing topic or permission, is [notify.Refused], because an
// operator may repair the cause. Throttling, an expired token and any other failure are
// [notify.Unreachable]. Both are retried. A Notifier is safe for concurrent use.
package sns

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/smithy-go"

	"github.com/varvedb/varve/notify"
)

// Options configure a notifier. Topic is required.
type Options struct {
	Topic    string // ARN of the SNS topic
	Endpoint string // address of an emulator; if empty, messages go to AWS
}

// Notifier publishes each message to a topic.
type Notifier struct {
	topic  string
	client *sns.Client
}

// New returns a notifier. It uses the default credentials, and the region in the topic's ARN.
func New(ctx context.Context, o Options) (*Notifier, error) {
	if err := CheckTopic(o.Topic); err != nil {
		return nil, err
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(strings.Split(o.Topic, ":")[3]))
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	client := sns.NewFromConfig(cfg, func(s *sns.Options) {
		if o.Endpoint != "" {
			s.BaseEndpoint = aws.String(o.Endpoint)
		}
	})
	return &Notifier{topic: o.Topic, client: client}, nil
}

// CheckTopic returns an error for a text that is not the ARN of a topic.
func CheckTopic(arn string) error {
	parts := strings.Split(arn, ":")
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "sns" || parts[3] == "" || parts[5] == "" {
		return errors.New("not the ARN of a topic, as in arn:aws:sns:eu-central-1:123456789012:alerts")
	}
	return nil
}

// longestSubject is the maximum length of a subject that SNS accepts, in characters.
const longestSubject = 99

// Send implements notify.Notifier.
func (n *Notifier) Send(ctx context.Context, m *notify.Message) error {
	body, err := m.Envelope()
	if err != nil {
		return err
	}
	in := &sns.PublishInput{
		TopicArn: aws.String(n.topic), Message: aws.String(string(body)), Subject: aws.String(subject(m.Headline())),
		MessageAttributes: map[string]types.MessageAttributeValue{"type": attribute(string(m.Type)), "id": attribute(m.ID)},
	}
	group := "varve"
	if a := m.Alert; a != nil {
		in.MessageAttributes["severity"], group = attribute(a.Severity), a.Tenant+"/"+a.Device
	}
	if strings.HasSuffix(n.topic, ".fifo") {
		in.MessageDeduplicationId, in.MessageGroupId = aws.String(m.ID), aws.String(groupID(group))
	}
	_, err = n.client.Publish(ctx, in)
	return classify(err)
}

// longestGroup is the maximum length of a message group id that SNS accepts, in characters.
const longestGroup = 128

// subject returns a line of text as SNS accepts it: printable ASCII of a limited length.
func subject(text string) string {
	clean := printable(text)
	return clean[:min(len(clean), longestSubject)]
}

// printable replaces all characters except printable ASCII.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// groupID returns a message group id: printable ASCII without spaces, at most longestGroup
// characters. A longer text is cut, and gets a hash, so that long names of devices have groups of
// their own. Devices with short names that differ only in replaced characters share a group.
func groupID(text string) string {
	clean := strings.ReplaceAll(printable(text), " ", "_")
	if len(clean) <= longestGroup {
		return clean
	}
	sum := sha256.Sum256([]byte(text))
	hash := "-" + hex.EncodeToString(sum[:8])
	return clean[:longestGroup-len(hash)] + hash
}

func attribute(text string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(text)}
}

// classify converts an error of SNS to a notify.SendError. A 4xx status is notify.Refused, unless the error is
// temporary. An operator may repair the cause, for example a missing topic or permission.
func classify(err error) error {
	if err == nil {
		return nil
	}
	e := &notify.SendError{Fault: notify.Unreachable, Err: err}
	var resp *awshttp.ResponseError
	if errors.As(err, &resp) && resp.HTTPStatusCode()/100 == 4 && !isTemporary(resp.HTTPStatusCode(), err) {
		e.Fault = notify.Refused
	}
	return e
}

// temporaryCodes has the error codes of slow requests, and of expired tokens, which the SDK renews.
var temporaryCodes = []string{"ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeout", "RequestTimeoutException"}

// isTemporary reports whether an answer with a 4xx status is about throttling, a slow request or an expired
// token.
func isTemporary(status int, err error) bool {
	var api smithy.APIError
	if status == http.StatusTooManyRequests || !errors.As(err, &api) {
		return status == http.StatusTooManyRequests
	}
	_, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]
	return throttled || slices.Contains(temporaryCodes, api.ErrorCode())
}
