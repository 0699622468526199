package erasures

import (
	"time"

	"github.com/varvedb/varve"
)

// Target is the data that an erasure covers.
type Target struct {
	Tenant, Device string
	Stream         string       // if empty, the target is all streams and the log of the device
	Window         varve.Window // range of event times, in whole hours
}

// IsWhole reports whether the target covers all data of the device, with its registration.
func (t *Target) IsWhole() bool { return t.Stream == "" && t.isUnbounded() }

// isUnbounded reports whether the window has all event times.
func (t *Target) isUnbounded() bool {
	all := varve.AllTime()
	return t.Window.From.Equal(all.From) && t.Window.To.Equal(all.To)
}

// Validate returns an error if the target is invalid.
func (t *Target) Validate() error {
	if err := varve.ValidateDevice(t.Device); err != nil {
		return varve.InvalidParam("device", "%s", err)
	}
	stream := t.Stream
	if stream == "" {
		stream = "any"
	}
	s := varve.Series{Tenant: t.Tenant, Stream: stream, Device: t.Device}
	if v := s.Validate(); v.Outcome == varve.Rejected {
		name := "tenant"
		if v.Code == varve.CodeStreamInvalid {
			name = "stream"
		}
		return varve.InvalidParam(name, "%s", v.Message)
	}
	if err := t.Window.Validate(); err != nil {
		return varve.InvalidParam("to", "%s", err)
	}
	return t.validateTimes()
}

// validateTimes returns an error if the window has times that are not valid event times, or does not
// begin and end at whole hours.
func (t *Target) validateTimes() error {
	all := varve.AllTime()
	if t.Window.From.Before(all.From) {
		return varve.InvalidParam("from", "is before %s: use that time", all.From.Format(time.RFC3339Nano))
	}
	if t.Window.To.After(all.To) {
		return varve.InvalidParam("to", "is after %s: use that time", all.To.Format(time.RFC3339Nano))
	}
	if !t.Window.From.Equal(all.From) && !isHour(t.Window.From) {
		return varve.InvalidParam("from", "is not a whole hour: use %s, because roll-ups cover whole hours", t.Window.From.UTC().Truncate(time.Hour).Format(time.RFC3339))
	}
	if !t.Window.To.Equal(all.To) && !isHour(t.Window.To) {
		return varve.InvalidParam("to", "is not a whole hour: use %s, because roll-ups cover whole hours", t.Window.To.UTC().Add(time.Hour-1).Truncate(time.Hour).Format(time.RFC3339))
	}
	return nil
}

func isHour(t time.Time) bool { return t.Equal(t.Truncate(time.Hour)) }

func (t *Target) series(stream string) varve.Series {
	return varve.Series{Tenant: t.Tenant, Stream: stream, Device: t.Device}
}
