package engine

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
)

// source returns stored readings to the alerts, whether the readings have expired or not. The
// retention of a device may be shorter than an episode or a silence that a rule requires.
type source struct{ *query.Engine }

// Read implements alerts.Source.
func (s source) Read(ctx context.Context, series varve.Series, w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error {
	rows, err := s.Open(ctx, query.Query{Series: series, Window: w, Order: o, Consistent: true, Expired: true})
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
			if !yield(&readings[i]) {
				return nil
			}
		}
	}
}

// LastArrival implements alerts.Source.
func (s source) LastArrival(ctx context.Context, series varve.Series) (time.Time, bool, error) {
	a, err := s.Latest(ctx, query.LatestQuery{Series: series, By: varve.ByArrival, Consistent: true, Expired: true})
	return a.Reading.Arrived, a.Found, err
}
