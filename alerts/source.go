package alerts

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

// Source returns stored readings, including expired readings that are not deleted yet.
type Source interface {
	// Read yields the readings of a series in a window, in order, until yield returns false. It
	// includes every reading that was acknowledged before the call, and the readings of the write
	// that is being observed. A reading is valid until yield returns.
	Read(ctx context.Context, s varve.Series, w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error
	// LastArrival returns the latest arrival of the readings of a series, or false if the series is
	// empty.
	LastArrival(ctx context.Context, s varve.Series) (time.Time, bool, error)
	// StreamsOf returns the streams in which a device has readings that are not expired.
	StreamsOf(ctx context.Context, tenant, device string) ([]string, error)
}
