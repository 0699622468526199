package alerts

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry"
)

// Limits of a preview.
const (
	// MaxPreviewReadings is the maximum number of stored readings that a preview reads.
	MaxPreviewReadings = 1_000_000
	// MaxPreviewSeries is the maximum number of devices to which a previewed rule may apply.
	MaxPreviewSeries = 1_000
	// MaxPreviewAlerts is the maximum number of alerts in a preview.
	MaxPreviewAlerts = 1_000
)

// PreviewQuery asks for the alerts that a rule would have opened in a window.
type PreviewQuery struct {
	Rule   Rule
	Window varve.Window
	// InTurn, if set, runs each read of a series as soon as the server has capacity.
	InTurn func(ctx context.Context, do func() error) error
}

// Preview has the alerts that a rule would have opened.
type Preview struct {
	Rule     Rule    // the previewed rule; if no gap was given, it has the measured gap
	Alerts   []Alert // the last MaxPreviewAlerts by Since, the last one first; ID and KnownAt are empty
	Total    int     // number of alerts that the rule would have opened
	Series   int     // number of series in which readings were read
	Readings int     // number of stored readings that were read
}

// Preview evaluates a rule on the stored readings of a window, and writes nothing. It returns the last
// alerts whose episodes touch the window. Except for ID and KnownAt, they equal the alerts that the rule
// would have opened if it had existed when the readings arrived. An episode that began before the window,
// or continues after it, is included as a whole.
//
// Preview fails with Invalid for an invalid rule, and for a rule that is evaluated by the clock. It also
// does so if MaxPreviewReadings or MaxPreviewSeries is exceeded.
func (m *Monitor) Preview(ctx context.Context, q PreviewQuery) (*Preview, error) {
	p := preview{Monitor: m, q: q, done: &Preview{Rule: q.Rule}}
	rule := &p.done.Rule
	if err := rule.Validate(); err != nil {
		return nil, err
	}
	if rule.byReadings() == nil {
		return nil, varve.InvalidParam("kind", "%s rules follow the clock, and have no preview: use kind value", rule.Kind)
	}
	if err := q.Window.Validate(); err != nil {
		return nil, varve.InvalidParam("to", "%s", err)
	}
	if err := m.gaps.measure(ctx, rule); err != nil {
		return nil, err
	}
	series, err := p.series(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range series {
		do := func() error { return p.addSeries(ctx, s) }
		if q.InTurn != nil {
			err = q.InTurn(ctx, do)
		} else {
			err = do()
		}
		if err != nil {
			return nil, err
		}
	}
	p.trim()
	return p.done, nil
}

type preview struct {
	*Monitor
	q    PreviewQuery
	done *Preview
}

// series returns the series to which the rule applies. It fails for more than MaxPreviewSeries
// devices.
func (p *preview) series(ctx context.Context) (all []varve.Series, err error) {
	r := &p.done.Rule
	if r.Device != "" {
		return p.gaps.seriesOf(ctx, r)
	}
	q := devices.Query{Tenant: r.Tenant, Limit: registry.MaxLimit}
	for {
		page, err := p.opts.Devices.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			all = append(all, varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: page.Items[i].Device})
		}
		if len(all) > MaxPreviewSeries {
			return nil, varve.InvalidParam("device", "more than %d devices: name one for a preview", MaxPreviewSeries)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return all, nil
		}
	}
}

var errPreviewFull = errors.New("the preview has read too many readings")

// addSeries adds the alerts of one series to the result, and counts the readings that it reads.
func (p *preview) addSeries(ctx context.Context, s varve.Series) error {
	rule, before, w := &p.done.Rule, p.done.Readings, p.q.Window
	stored := samplesOf(ctx, p.opts.Source, rule, s)
	stored.read = p.counted(stored.read)
	around := span{lo: varve.Position{Time: w.From.UnixNano(), ID: firstID}, hi: varve.Position{Time: w.To.UnixNano(), ID: firstID}}
	// Begin the evaluation at the last sample before the window. Otherwise an episode that reaches into the
	// window would begin too late.
	err := stored.before(around.lo, func(one *sample) bool {
		around.lo, around.mayHold = one.at, one.holds
		return false
	})
	of := subjectOf(rule, s)
	if err == nil {
		_, err = evaluateInto(rule, stored, around, history{}, func(e *episode) { p.addAlert(&of, e) })
	}
	if errors.Is(err, errPreviewFull) {
		return varve.InvalidParam("from", "the preview needs more than %d readings: name a device, or a shorter window", MaxPreviewReadings)
	}
	if err != nil {
		return err
	}
	if p.done.Readings > before {
		p.done.Series++
	}
	return nil
}

// addAlert adds the alert of an episode, unless the episode ended before the window.
func (p *preview) addAlert(of *subject, e *episode) {
	if e.end != nil && e.resolvedAt().Before(p.q.Window.From) {
		return
	}
	a := of.alert(e)
	a.ID, a.KnownAt = "", time.Time{}
	p.done.Total++
	if p.done.Alerts = append(p.done.Alerts, a); len(p.done.Alerts) == 2*MaxPreviewAlerts {
		p.trim()
	}
}

// trim sorts the alerts, and removes all but the last MaxPreviewAlerts.
func (p *preview) trim() {
	slices.SortStableFunc(p.done.Alerts, func(a, b Alert) int { return b.Since.Compare(a.Since) })
	if list := p.done.Alerts; len(list) > MaxPreviewAlerts {
		clear(list[MaxPreviewAlerts:])
		p.done.Alerts = list[:MaxPreviewAlerts]
	}
}

type readWindow = func(w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error

// counted returns a function that calls the function "read", and fails after MaxPreviewReadings
// readings.
func (p *preview) counted(read readWindow) readWindow {
	return func(w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error {
		full := false
		err := read(w, o, func(r *varve.Reading) bool {
			full = p.done.Readings >= MaxPreviewReadings
			if !full {
				p.done.Readings++
			}
			return !full && yield(r)
		})
		if full {
			err = errPreviewFull
		}
		return err
	}
}
