package notify

import (
	"slices"

	"github.com/varvedb/varve/alerts"
)

// Route selects alerts. An alert matches if each list contains its value or is empty.
type Route struct {
	Severities []alerts.Severity
	Streams    []string
	Rules      []string
	Tenants    []string
}

// Matches reports whether the route selects an alert.
func (r *Route) Matches(a *alerts.Alert) bool {
	return selects(r.Severities, a.Severity) && selects(r.Streams, a.Stream) && selects(r.Rules, a.Rule) && selects(r.Tenants, a.Tenant)
}

func selects[T comparable](list []T, one T) bool { return len(list) == 0 || slices.Contains(list, one) }

// Target is a notifier with its name and the route of its alerts.
type Target struct {
	Name     string
	Route    Route
	Notifier Notifier
}

func targetsOf(targets []Target, a *alerts.Alert) (names []string) {
	for i := range targets {
		if targets[i].Route.Matches(a) {
			names = append(names, targets[i].Name)
		}
	}
	return names
}
