package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// steadyTries is how often a request to a table is sent that is said not to be
// there, and is: about two seconds.
const steadyTries = 8

// steady sends a request to a table, again if DynamoDB does not know everywhere
// yet that the table is there. It fails with ErrNoTable only if it is not.
func (s *Store) steady(ctx context.Context, t grid.Table, action string, send func() error) error {
	for try := 0; ; try++ {
		if err := pause(ctx, try); err != nil {
			return err
		}
		err := send()
		var missing *types.ResourceNotFoundException
		if err == nil || !errors.As(err, &missing) {
			return err
		}
		r, rerr := s.recordOf(ctx, t)
		if rerr != nil {
			return rerr
		}
		if r == nil || r.Phase != usable {
			return err
		}
		d, derr := s.describe(ctx, t.Name())
		if isNoTable(derr) || derr == nil && d.TableStatus == types.TableStatusDeleting {
			return err
		}
		if try == steadyTries {
			return &varve.Error{Failure: varve.Unavailable, RetryAfter: time.Second, Err: err, Message: fmt.Sprintf(
				"DynamoDB does not take %s on %s, which is active, as if it were not there: send it again", action, t)}
		}
	}
}
