package tables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/dynamo/client"
)

// notFoundTries is how often a request is resent if DynamoDB does not find a table that exists. The
// pauses before these requests add up to about three seconds.
const notFoundTries = 8

// RetryNotFound sends a request to a table. Some servers of DynamoDB may not know a new table yet.
// So if DynamoDB does not find a table that exists, RetryNotFound resends the request, up to
// notFoundTries times. If the table is missing, it returns the error of the request.
func (s *Records) RetryNotFound(ctx context.Context, t grid.Table, action string, send func() error) error {
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return err
		}
		err := send()
		var missing *types.ResourceNotFoundException
		if err == nil || !errors.As(err, &missing) {
			return err
		}
		if exists, xerr := s.exists(ctx, t); xerr != nil || !exists {
			return cmp.Or(xerr, err)
		}
		if try == notFoundTries {
			return &varve.Error{Failure: varve.Unavailable, RetryAfter: time.Second, Err: err, Message: fmt.Sprintf(
				"DynamoDB does not find %s for %s, although it is active: retry later", t, action)}
		}
	}
}

// exists reports whether a table exists in DynamoDB and its record marks it as usable.
func (s *Records) exists(ctx context.Context, t grid.Table) (bool, error) {
	r, err := s.read(ctx, t)
	if err != nil || !r.isUsable() {
		return false, err
	}
	d, err := s.admin.Describe(ctx, t.Name())
	if err != nil { // retry after any error except a missing table
		return !client.IsNoTable(err), nil
	}
	return d.TableStatus != types.TableStatusDeleting, nil
}
