package query

import (
	"context"

	"github.com/varvedb/varve"
)

// Each calls each with every distinct reading of a series in a window that was
// acknowledged before and is still in a table, expired or not, as it arrived
// first. The readings are good during the call only. It fails if a table was
// dropped meanwhile: some are missing then that there were.
func (e *Engine) Each(ctx context.Context, s varve.Series, w varve.Window, each func(*varve.Reading)) error {
	rows, err := e.Open(ctx, Query{Series: s, Window: w, Consistent: true, Expired: true})
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		readings, err := rows.Next(ctx)
		if err != nil {
			return err
		}
		if len(readings) == 0 {
			break
		}
		for i := range readings {
			each(&readings[i])
		}
	}
	if missing := rows.Coverage().Missing; len(missing) > 0 {
		return varve.Errorf(varve.Unavailable, "%s was dropped while it was read: ask again", missing[0])
	}
	return nil
}
