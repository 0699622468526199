package client

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
)

const (
	// attempts is how often a request is sent before its failure is returned.
	attempts = 10
	// firstPause limits the pause after the first attempt. The limit doubles with each attempt, up
	// to longestPause. The pauses of a request that fails ten times add up to about seven seconds.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// NewRetryer returns a retryer for many small requests to DynamoDB.
func NewRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.Backoff = retry.BackoffDelayerFunc(backoff)
		o.RateLimiter = ratelimit.None // the router limits the number of waiting readings
	})
}

// backoff returns the pause after a failed attempt. Attempts are counted from 1.
func backoff(attempt int, _ error) (time.Duration, error) {
	longest := min(firstPause<<min(max(attempt-1, 0), 10), longestPause)
	return longest/2 + rand.N(longest/2), nil
}

// cutRetryer also retries after an incomplete answer. The SDK does not do so. With cutRetryer, a request
// may be executed twice. That is safe: reads change nothing, and writes have conditions or write the
// same values again.
//
// It also counts throttled attempts by table.
type cutRetryer struct {
	aws.RetryerV2

	tables *TableMeter
}

// IsErrorRetryable implements aws.Retryer.
func (r cutRetryer) IsErrorRetryable(err error) bool {
	r.tables.addThrottled(err) // the SDK calls this function after each failed attempt
	return r.RetryerV2.IsErrorRetryable(err) || isCutShort(err)
}

// retryerV2 returns a retryer with the newer interface of the SDK.
func retryerV2(r aws.Retryer) aws.RetryerV2 {
	if v2, ok := r.(aws.RetryerV2); ok {
		return v2
	}
	return retryerV1{r}
}

// retryerV1 adapts a retryer with the older interface of the SDK.
type retryerV1 struct{ aws.Retryer }

// GetAttemptToken implements aws.RetryerV2.
func (r retryerV1) GetAttemptToken(context.Context) (func(error) error, error) {
	return r.GetInitialToken(), nil
}

// isCutShort reports whether an answer is incomplete or garbled, or did not arrive in time. It
// returns false if the caller canceled the request, or if the caller's deadline ended it.
func isCutShort(err error) bool {
	var garbled *smithy.DeserializationError
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &garbled), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return true
	default:
		return errors.As(err, &network) && network.Timeout() && !errors.Is(err, context.DeadlineExceeded)
	}
}

// withCutRetry returns a client that also retries after incomplete answers, and counts throttled
// attempts.
func withCutRetry(c *dynamodb.Client, tables *TableMeter) *dynamodb.Client {
	return dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		if o.Retryer != nil {
			o.Retryer = cutRetryer{retryerV2(o.Retryer), tables}
		}
	})
}
