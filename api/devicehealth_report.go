package api

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/rollup"
)

// addAlerts counts the open alerts of the listed devices. It reads pages of the tenant's open alerts, up
// to about maxHealthAlerts. If more are open, it adds a note.
func (s *healthReport) addAlerts(ctx context.Context) error {
	at := make(map[string]*wire.DeviceHealth, len(s.bodies))
	for i := range s.bodies {
		at[s.bodies[i].Device] = &s.bodies[i]
	}
	l := alerts.AlertList{Tenant: s.tenant, State: alerts.Open, Limit: registry.MaxLimit}
	for counted := 0; ; {
		page, err := s.monitor.Alerts(ctx, l)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if b := at[page.Items[i].Device]; b != nil {
				addAlert(b, &page.Items[i])
			}
		}
		counted += len(page.Items)
		if l.Cursor = page.Next; l.Cursor == "" {
			return nil
		}
		if counted >= maxHealthAlerts {
			s.notes = append(s.notes, wire.Note{Param: "query", Message: "more alerts are open than are counted: open_alerts may be too low"})
			return nil
		}
	}
}

func addAlert(b *wire.DeviceHealth, a *alerts.Alert) {
	b.OpenAlerts++
	if a.Late {
		b.LateAlerts++
	}
	if rank(a.Severity) > rank(alerts.Severity(b.Severity)) {
		b.Severity = string(a.Severity)
	}
}

// rank returns 1 for the lowest severity, and larger numbers for higher ones. It returns 0 for "".
func rank(s alerts.Severity) int { return slices.Index(alerts.Severities(), s) + 1 }

// noField selects no field of a roll-up, because no field can have this name.
var noField = []string{"_"}

// addHours adds the completeness of a device, from its hourly roll-ups in the streams in which it has a
// live reading.
func (s *healthReport) addHours(ctx context.Context, b *wire.DeviceHealth) error {
	if s.rollups == nil {
		return nil
	}
	hours := map[int64]bool{}
	for _, of := range b.Streams {
		q := rollup.Query{
			Series: varve.Series{Tenant: s.tenant, Stream: of.Stream, Device: b.Device},
			Period: rollup.Hourly, Window: s.window, Fields: noField, Limit: rollup.MaxLimit,
		}
		for more := true; more; {
			err := s.reads.inTurn(ctx, func() error {
				page, err := s.rollups.Read(ctx, q)
				for i := range page.Rollups {
					hours[page.Rollups[i].Start.Unix()] = true
				}
				q.Window.From, more = page.Next, !page.Next.IsZero()
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	due, err := s.hoursDue(ctx, b, hours)
	n := len(hours)
	if b.HoursWith, b.HoursDue = &n, &due; due > 0 {
		share := float64(n) / float64(due)
		b.Completeness = &share
	}
	return err
}

// hoursDue returns the number of hours of the window since the first reading of a device. So a device
// that first sent a reading a day ago can be complete in a window of a week. For a device without a live
// reading, it returns all hours of the window.
func (s *healthReport) hoursDue(ctx context.Context, b *wire.DeviceHealth, hours map[int64]bool) (int, error) {
	first := s.window.To
	if len(b.Streams) == 0 {
		return s.hours, nil // no live reading: all hours are due
	}
	for at := range hours {
		first = earlier(first, time.Unix(at, 0))
	}
	for _, of := range b.Streams {
		if !first.After(s.window.From) {
			break
		}
		err := s.reads.inTurn(ctx, func() error {
			at, err := s.firstReading(ctx, varve.Series{Tenant: s.tenant, Stream: of.Stream, Device: b.Device})
			first = earlier(first, at)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	first = first.Truncate(time.Hour)
	if first.Before(s.window.From) {
		return s.hours, nil
	}
	return int(s.window.To.Sub(first) / time.Hour), nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// firstReading returns the event time of the first live reading of a series. If the series has none, it
// returns the end of varve.AllTime.
func (s *healthReport) firstReading(ctx context.Context, of varve.Series) (time.Time, error) {
	rows, err := s.query.Open(ctx, query.Query{Series: of, Window: varve.AllTime(), Limit: 1})
	if err != nil {
		return time.Time{}, err
	}
	defer rows.Close()
	for first := varve.AllTime().To; ; {
		list, err := rows.Next(ctx)
		if err != nil || len(list) == 0 {
			return first, err
		}
		first = earlier(first, list[0].Time)
	}
}

// sortHealth sorts devices. Equal devices stay in the order of their names.
func sortHealth(list []wire.DeviceHealth, order string) {
	compare := compareWorst
	switch order {
	case "last_seen":
		compare = compareSeen
	case "lag":
		compare = func(a, b *wire.DeviceHealth) int { return cmp.Compare(lagOf(b), lagOf(a)) }
	case "completeness":
		compare = func(a, b *wire.DeviceHealth) int { return cmp.Compare(shareOf(a), shareOf(b)) }
	}
	slices.SortStableFunc(list, func(a, b wire.DeviceHealth) int { return cmp.Or(compare(&a, &b), strings.Compare(a.Device, b.Device)) })
}

// compareWorst orders devices by status, severity, open alerts, completeness and last-seen time. The
// device that most needs attention comes first.
func compareWorst(a, b *wire.DeviceHealth) int {
	return cmp.Or(
		cmp.Compare(expectation(a.Status), expectation(b.Status)),
		cmp.Compare(rank(alerts.Severity(b.Severity)), rank(alerts.Severity(a.Severity))),
		cmp.Compare(b.OpenAlerts, a.OpenAlerts),
		cmp.Compare(shareOf(a), shareOf(b)),
		compareSeen(a, b),
	)
}

// expectation returns 0 for an active device. The result is larger for devices that are less expected to
// send readings.
func expectation(status string) int {
	return slices.Index([]string{"active", "maintenance", "inactive"}, status)
}

func compareSeen(a, b *wire.DeviceHealth) int { return seenOf(a).Compare(seenOf(b)) }

func seenOf(b *wire.DeviceHealth) (t time.Time) {
	if b.LastSeenAt != nil {
		t = *b.LastSeenAt
	}
	return t
}

// lagOf returns the lag of a device in seconds. Without a reading, it is infinite.
func lagOf(b *wire.DeviceHealth) float64 {
	if b.LagSeconds == nil {
		return math.Inf(1)
	}
	return *b.LagSeconds
}

// shareOf returns the completeness of a device. It is 1 if no hour is due, and 0 if it is unknown.
func shareOf(b *wire.DeviceHealth) float64 {
	if b.HoursDue != nil && *b.HoursDue == 0 {
		return 1
	}
	if b.Completeness == nil {
		return 0
	}
	return *b.Completeness
}
