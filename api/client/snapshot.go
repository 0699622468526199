package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/varvedb/varve/api/wire"
)

// Snapshot makes a snapshot of the server's store, and calls the function "use" with it. The snapshot is
// deleted when the function returns. If the server stops meanwhile, the context of the function is
// canceled.
func (c OperatorCalls) Snapshot(ctx context.Context, use func(context.Context, wire.Snapshot) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := c.do(ctx, request{method: http.MethodPost, path: "/v1/snapshots"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	lines := json.NewDecoder(bufio.NewReader(resp.Body))
	var first wire.SnapshotLine
	if err := lines.Decode(&first); err != nil || first.Snapshot == nil {
		return errors.Join(fmt.Errorf("the server's answer has no snapshot: %s", first.Error), err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		cancel(endOfSnapshot(lines))
	}()
	err = use(ctx, *first.Snapshot)
	if gone := context.Cause(ctx); err != nil && gone != nil {
		err = gone
	}
	cancel(nil) // ends the request
	<-watched
	return err
}

// endOfSnapshot waits until the server has deleted a snapshot or the connection is lost. It returns the
// reason.
func endOfSnapshot(lines *json.Decoder) error {
	for {
		var l wire.SnapshotLine
		switch err := lines.Decode(&l); {
		case errors.Is(err, io.EOF):
			return errors.New("the server has ended the snapshot: start the backup again")
		case err != nil:
			return fmt.Errorf("the connection to the server was lost: start the backup again: %w", err)
		case l.Error != "":
			return errors.New(l.Error)
		}
	}
}
