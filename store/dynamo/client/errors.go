package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// IsNoTable reports whether err means that a table is missing.
func IsNoTable(err error) bool { return errors.Is(err, store.ErrNoTable) }

// IsConditionFailed returns the exception in err if the condition of a write was false.
func IsConditionFailed(err error) (*types.ConditionalCheckFailedException, bool) {
	var failed *types.ConditionalCheckFailedException
	ok := errors.As(err, &failed)
	return failed, ok
}

// Error translates the error of a failed request into an error of the store contract. The SDK has
// retried the request before. Most of the results name a remedy. Error does not change an error that
// wraps a varve.Error.
func (c *Client) Error(action, table string, err error) error {
	var known *varve.Error
	if errors.As(err, &known) {
		return err
	}
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		if table == c.registry && action != "DescribeTable" {
			return unavailable(err, 0, "registry: table %s is missing: restore it from a backup", table)
		}
		return fmt.Errorf("%s: %w", table, store.ErrNoTable)
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		if strings.Contains(err.Error(), "get credentials") { // the SDK has no type for this error
			return unavailable(err, 0, "credentials: none found for %s: set them in the environment or in ~/.aws, or give the machine a role", action)
		}
		return unavailable(err, time.Second, "no answer to %s from DynamoDB: check the endpoint, the region and the network", action)
	}
	return answerError(action, table, api.ErrorCode(), err)
}

// answerError translates an error code with which DynamoDB answered.
func answerError(action, table, code string, err error) error {
	switch code {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException",
		"InternalServerError", "ServiceUnavailable", "InternalServerErrorException", "RequestTimeout", "TransactionInProgressException":
		return unavailable(err, time.Second, "DynamoDB refuses %s on %s for now (%s): retry later", action, table, code)
	case "AccessDeniedException":
		return unavailable(err, 0, "credentials: no right to dynamodb:%s on table %s: add it to their policy", action, table)
	case "ExpiredTokenException", "UnrecognizedClientException", "InvalidSignatureException", "MissingAuthenticationTokenException":
		return unavailable(err, 0, "credentials: refused by DynamoDB (%s): renew them, and check the clock", code)
	case "ValidationException":
		return &varve.Error{Failure: varve.Invalid, Err: err, Message: fmt.Sprintf("DynamoDB refuses %s on %s as invalid", action, table)}
	default:
		return fmt.Errorf("%s on %s: %w", action, table, err)
	}
}

func unavailable(err error, retryAfter time.Duration, format string, args ...any) error {
	return &varve.Error{Failure: varve.Unavailable, RetryAfter: retryAfter, Err: err, Message: fmt.Sprintf(format, args...)}
}

// OwnRequest converts an error of a request that the store sends for its own purposes. It replaces an
// error of the kind varve.Invalid, so that no reading of a write is rejected as malformed.
func OwnRequest(err error) error {
	if varve.FailureOf(err) != varve.Invalid {
		return err
	}
	return unavailable(err, time.Second, "the store is not ready for the reading")
}
