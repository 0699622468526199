package dynamo

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

func isNoTable(err error) bool { return errors.Is(err, store.ErrNoTable) }

// fail turns an error of the SDK's, after its retries, into one of the
// contract's, which says what to do.
func (s *Store) fail(action, table string, err error) error {
	var known *varve.Error
	if errors.As(err, &known) { // said already
		return err
	}
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) && table == s.opts.Registry && action != "DescribeTable" {
		return &varve.Error{
			Failure: varve.Unavailable, Err: err,
			Message: fmt.Sprintf("the registry, table %s, is not there: restore it from a backup", table),
		}
	}
	if errors.As(err, &missing) {
		return fmt.Errorf("%s: %w", table, store.ErrNoTable)
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		if strings.Contains(err.Error(), "get credentials") { // the SDK has no type for it
			return &varve.Error{
				Failure: varve.Unavailable, Err: err,
				Message: fmt.Sprintf("there are no credentials for %s: set them in the environment or in ~/.aws, or give the machine a role", action),
			}
		}
		return &varve.Error{
			Failure: varve.Unavailable, RetryAfter: time.Second, Err: err,
			Message: fmt.Sprintf("no answer to %s from DynamoDB: check the endpoint, the region and the network", action),
		}
	}
	switch code := api.ErrorCode(); code {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException",
		"InternalServerError", "ServiceUnavailable", "InternalServerErrorException", "RequestTimeout", "TransactionInProgressException":
		return &varve.Error{
			Failure: varve.Unavailable, RetryAfter: time.Second, Err: err,
			Message: fmt.Sprintf("DynamoDB does not take %s on %s for now (%s)", action, table, code),
		}
	case "AccessDeniedException":
		return &varve.Error{
			Failure: varve.Unavailable, Err: err,
			Message: fmt.Sprintf("the credentials do not allow dynamodb:%s on table %s: add it to their policy", action, table),
		}
	case "ExpiredTokenException", "UnrecognizedClientException", "InvalidSignatureException", "MissingAuthenticationTokenException":
		return &varve.Error{
			Failure: varve.Unavailable, Err: err,
			Message: fmt.Sprintf("DynamoDB does not accept the credentials (%s): renew them, and check the clock", code),
		}
	}
	if api.ErrorCode() == "ValidationException" {
		return &varve.Error{Failure: varve.Invalid, Err: err, Message: fmt.Sprintf("DynamoDB does not take %s on %s as it is", action, table)}
	}
	return fmt.Errorf("%s on %s: %w", action, table, err)
}

// notTheirs returns an error of a request that the store makes for itself. It
// never blames the readings that are written, whatever DynamoDB says.
func notTheirs(err error) error {
	if varve.FailureOf(err) != varve.Invalid {
		return err
	}
	return &varve.Error{Failure: varve.Unavailable, RetryAfter: time.Second, Err: err, Message: "the store is not ready for the reading"}
}
