package dynamo

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
	// firstPause and longestPause bound the pauses in between: some five seconds
	// in all, as most faults pass at once.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// NewRetryer returns the retryer that suits many small requests to DynamoDB.
func NewRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.Backoff = retry.BackoffDelayerFunc(pauseAfter)
		o.RateLimiter = ratelimit.None // readings that wait are bounded by the router
	})
}

// pauseAfter returns how long to wait after a failed attempt, the first being 1.
func pauseAfter(attempt int, _ error) (time.Duration, error) {
	longest := min(firstPause<<min(max(attempt-1, 0), 10), longestPause)
	return longest/2 + rand.N(longest/2), nil
}

// cutRetryer also retries answers that were cut short, which the SDK does not.
// All requests may be carried out twice: reads change nothing, and writes have
// conditions or write the same again.
type cutRetryer struct{ aws.RetryerV2 }

// IsErrorRetryable implements aws.Retryer.
func (r cutRetryer) IsErrorRetryable(err error) bool {
	return r.RetryerV2.IsErrorRetryable(err) || isCutShort(err)
}

// attemptRetryer is a retryer with all of its methods.
func attemptRetryer(r aws.Retryer) aws.RetryerV2 {
	if v2, ok := r.(aws.RetryerV2); ok {
		return v2
	}
	return retryerV1{r}
}

// retryerV1 is a retryer of the older interface.
type retryerV1 struct{ aws.Retryer }

// GetAttemptToken implements aws.RetryerV2.
func (r retryerV1) GetAttemptToken(context.Context) (func(error) error, error) {
	return r.GetInitialToken(), nil
}

// isCutShort reports whether an answer began to arrive and did not end, or came
// garbled. The caller's own deadline is not one.
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

// retryCut returns a client like c that retries answers that were cut short.
func retryCut(c *dynamodb.Client) *dynamodb.Client {
	return dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		if o.Retryer != nil {
			o.Retryer = cutRetryer{attemptRetryer(o.Retryer)}
		}
	})
}
