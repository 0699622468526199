package alerts

import (
	"context"
	"errors"
	"time"
)

// Alert returns an alert. The id of an alert that was replaced leads to its successor, whose id
// differs. If an alert was withdrawn without a successor, it is returned with Withdrawn as the
// reason for its resolution. Alert fails with NotFound if no alert with the id is stored.
func (m *Monitor) Alert(ctx context.Context, tenant, id string) (Alert, error) {
	a, _, err := m.stores.alerts.find(ctx, tenant, id)
	return a, err
}

// ResolveAlert resolves an open alert by hand, and returns it. The alert stays resolved while the
// condition holds. Once the condition has failed, a new alert can open. ResolveAlert fails with
// NotFound if the alert is missing.
func (m *Monitor) ResolveAlert(ctx context.Context, tenant, id string) (Alert, error) {
	return m.stores.alerts.change(ctx, tenant, id, func(a *Alert) bool { return a.resolve(ByHand, m.time()) })
}

// AcknowledgeAlert records the person who handles an alert, and returns the alert. An
// earlier acknowledgement is replaced. AcknowledgeAlert fails with NotFound if the alert is
// missing, and with Invalid if a text is too long or is not UTF-8.
func (m *Monitor) AcknowledgeAlert(ctx context.Context, tenant, id, by, comment string) (Alert, error) {
	if err := errors.Join(checkRemark("by", by), checkRemark("note", comment)); err != nil {
		return Alert{}, err
	}
	return m.stores.alerts.change(ctx, tenant, id, func(a *Alert) bool {
		if a.Acknowledged.By == by && a.Acknowledged.Comment == comment && !a.Acknowledged.At.IsZero() {
			return false // the alert has this acknowledgement already
		}
		a.Acknowledged = Acknowledgement{By: by, At: m.time(), Comment: comment}
		return true
	})
}

// MuteAlert mutes an alert until a time, and returns the alert. The zero time ends the mute.
// MuteAlert fails with NotFound if the alert is missing, and with Invalid for a time in the past or
// after the year 9999.
func (m *Monitor) MuteAlert(ctx context.Context, tenant, id string, until time.Time) (Alert, error) {
	if err := checkMute(until, m.opts.Now()); err != nil {
		return Alert{}, err
	}
	return m.stores.alerts.change(ctx, tenant, id, func(a *Alert) bool {
		changed := !a.MutedUntil.Equal(until)
		a.MutedUntil = until
		return changed
	})
}
