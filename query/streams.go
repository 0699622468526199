package query

import (
	"context"

	"github.com/varvedb/varve"
)

// StreamsOf returns the streams in which a device has live readings.
func (e *Engine) StreamsOf(ctx context.Context, tenant, device string) (of []string, err error) {
	list, err := e.opts.Streams.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	for _, st := range list {
		a, err := e.Latest(ctx, LatestQuery{Series: varve.Series{Tenant: tenant, Stream: st.Name, Device: device}})
		if err != nil {
			return nil, err
		}
		if a.Found {
			of = append(of, st.Name)
		}
	}
	return of, nil
}
