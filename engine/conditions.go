package engine

import (
	"errors"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/rotator"
	"time"
)

// rotatorEvents returns events that also set ArchiveFailing, and set and clear RotationFailing. A
// refused drop sets ArchiveFailing. RotationFailing does not change if another run is in progress,
// or if the plan is not the requested one.
func (e *Engine) rotatorEvents(events rotator.Events) rotator.Events {
	finished, refused := events.Finished, events.Refused
	events.Refused = func(t grid.Table, err error) {
		e.archives.refuse(t)
		e.Conditions.Set(health.ArchiveFailing, t.Name()+": "+err.Error())
		if refused != nil {
			refused(t, err)
		}
	}
	events.Finished = func(p *rotator.Plan, took time.Duration, err error) {
		switch {
		case errors.Is(err, lease.ErrHeld), errors.Is(err, rotator.ErrOtherPlan):
		case err != nil:
			e.Conditions.Set(health.RotationFailing, err.Error())
		default:
			e.Conditions.Clear(health.RotationFailing)
		}
		if finished != nil {
			finished(p, took, err)
		}
	}
	return events
}
