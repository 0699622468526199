package engine

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
)

// source reads stored readings for the fleet, including expired ones.
//
// A device may keep its readings for a shorter time than a rule's condition must hold, or than
// it may be silent.
type source struct{ e *Engine }

// Read implements fleet.Source.
func (s source) Read(ctx context.Context, series varve.Series, w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error {
	rows, err := s.e.Query.Open(ctx, query.Query{Series: series, Window: w, Order: o, Consistent: true, Expired: true})
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

// LastArrival implements fleet.Source.
func (s source) LastArrival(ctx context.Context, series varve.Series) (time.Time, bool, error) {
	a, err := s.e.Query.Latest(ctx, query.LatestQuery{Series: series, By: varve.ByArrival, Consistent: true, Expired: true})
	return a.Reading.Arrived, a.Found, err
}

// StreamsOf implements fleet.Source.
func (s source) StreamsOf(ctx context.Context, tenant, device string) (of []string, err error) {
	list, err := s.e.Streams.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	for _, st := range list {
		a, err := s.e.Query.Latest(ctx, query.LatestQuery{Series: varve.Series{Tenant: tenant, Stream: st.Name, Device: device}})
		if err != nil {
			return nil, err
		}
		if a.Found {
			of = append(of, st.Name)
		}
	}
	return of, nil
}
