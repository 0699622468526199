package query

import (
	"context"

	"github.com/varvedb/varve"
)

// Each calls each with every distinct reading of a series in a window that was
// acknowledged before and is still in a table, expired or not, as it arrived
// first. The readings are good during the call only.
func (e *Engine) Each(ctx context.Context, s varve.Series, w varve.Window, each func(*varve.Reading)) error {
	rows, err := e.Open(ctx, Query{Series: s, Window: w, Consistent: true, Expired: true})
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		readings, err := rows.Next(ctx)
		if err != nil || len(readings) == 0 {
			return err
		}
		for i := range readings {
			each(&readings[i])
		}
	}
}
