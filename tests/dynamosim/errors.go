package dynamosim

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-faster/jx"
	"github.com/varvedb/varve/tests/dynamosim/capacity"
	"github.com/varvedb/varve/tests/dynamosim/value"
)

// Prefixes of error types.
const (
	ownErrors     = "com.amazonaws.dynamodb.v20120810#"
	serviceErrors = "com.amazon.coral.service#"
	checkErrors   = "com.amazon.coral.validate#"
)

// failure is an error that the server sends to the client.
type failure struct {
	status   int // HTTP status; 0 means 400
	kind     string
	message  string
	item     []byte          // stored item, if a condition failed
	reason   capacity.Reason // reason, if the request was throttled
	resource string          // ARN of the throttled table or index
	scope    string          // kind of limit: TableRead, TableWrite, IndexRead or IndexWrite
}

// Error implements error.
func (f *failure) Error() string { return f.kind + ": " + f.message }

func ownError(kind, format string, args ...any) *failure {
	return &failure{kind: ownErrors + kind, message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error { return value.Invalid(fmt.Sprintf(format, args...)) }

func notFound() *failure {
	return ownError("ResourceNotFoundException", "Requested resource not found")
}

func tableNotFound(name string) *failure {
	return ownError("ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
}

func inUse(format string, args ...any) *failure {
	return ownError("ResourceInUseException", format, args...)
}

// conditionFailed returns the error for a failed condition. If item is not nil, the error includes
// it.
func conditionFailed(item []byte) *failure {
	return &failure{kind: ownErrors + "ConditionalCheckFailedException", message: "The conditional request failed", item: item}
}

// Messages for throttled requests.
const (
	tooMuchProvisioned = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
	tooMuchOnDemand    = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)

// throttled returns the error for a throttled request.
func throttled(onDemand bool, scope string, reason capacity.Reason, resource string) *failure {
	f := ownError("ProvisionedThroughputExceededException", tooMuchProvisioned)
	if onDemand {
		f = ownError("ThrottlingException", tooMuchOnDemand)
	}
	f.reason, f.resource, f.scope = reason, resource, scope
	return f
}

// asFailure converts an error to the failure that the server sends to the client.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	if rule, ok := errors.AsType[value.Invalid](err); ok {
		return &failure{kind: checkErrors + "ValidationException", message: string(rule)}
	}
	return &failure{kind: serviceErrors + "SerializationException", message: err.Error()}
}

// append appends the JSON of a failure, and returns the HTTP status.
func (f *failure) append(w *jx.Writer) (status int) {
	w.RawStr(`{"__type":`)
	w.Str(f.kind)
	w.RawStr(`,"message":`)
	w.Str(f.message)
	if f.item != nil {
		w.RawStr(`,"Item":`)
		w.Raw(f.item)
	}
	if f.reason != "" {
		w.RawStr(`,"ThrottlingReasons":[{"reason":`)
		w.Str(f.scope + string(f.reason))
		w.RawStr(`,"resource":`)
		w.Str(f.resource)
		w.RawStr(`}]`)
	}
	w.RawStr(`}`)
	if f.status != 0 {
		return f.status
	}
	return http.StatusBadRequest
}
