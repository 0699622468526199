package alerts

import (
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
	"github.com/varvedb/varve/internal/quote"
)

// Reasons for which an alert is resolved.
const (
	ByCondition   = "condition"    // the condition fails for a reading, or the silence of a device has ended
	ByGap         = "gap"          // no reading followed within the rule's gap
	ByHand        = "hand"         // a person resolved the alert
	ByRuleDeleted = "rule_deleted" // the rule was deleted
	ByRuleChanged = "rule_changed" // the condition of the rule was changed
	Withdrawn     = "withdrawn"    // late readings show that the condition did not hold long enough
)

// AlertState is the state of an alert.
type AlertState string

// States of an alert.
const (
	Open     AlertState = "open"
	Resolved AlertState = "resolved"
)

// AlertStates returns all states.
func AlertStates() []AlertState { return []AlertState{Open, Resolved} }

func checkAlertState(s AlertState) error {
	if slices.Contains(AlertStates(), s) {
		return nil
	}
	return varve.InvalidParam("state", "%s is unknown: use %s", quote.Text(string(s)), param.Alternatives(AlertStates()))
}

func stateOf(resolvedBy string) AlertState {
	if resolvedBy == "" {
		return Open
	}
	return Resolved
}

// Alert is the published state of an episode.
type Alert struct {
	Tenant, Device string
	ID             string // ids sort in the order of Since
	Stream         string // "" for a deadman rule without a stream
	Rule           string // id of the rule
	Severity       Severity
	Message        string      // the rule's condition, as text
	Value          varve.Value // value of the reading that opened the alert; zero for a deadman rule
	Since          time.Time   // when the condition began to hold
	OpenedAt       time.Time   // when the condition had held long enough
	ResolvedAt     time.Time   // zero if the alert is open
	ResolvedBy     string      // reason of the resolution, such as ByGap; "" if the alert is open
	KnownAt        time.Time   // when the alert was first stored; zero if an old version of Varve stored it
	// Late reports whether the reading that opened the alert arrived an hour or more after its
	// event time.
	Late         bool
	Acknowledged Acknowledgement
	MutedUntil   time.Time // zero if the alert is not muted

	generation string    // generation of the rule; "" if the alert was stored before rules had generations
	moved      time.Time // when the alert was replaced or withdrawn; zero if it was not
	extent     extent    // extent of the episode at the time "moved"; zero if moved is zero
}

// extent is the range from the first reading of an episode to the reading that opened its alert.
type extent struct {
	start, opened varve.Position
}

// remarks returns the changes that people made to the alert.
func (a *Alert) remarks() remarks {
	s := remarks{acknowledged: a.Acknowledged, mutedUntil: a.MutedUntil}
	if a.ResolvedBy == ByHand {
		s.resolved = a.ResolvedAt
	}
	return s
}

// isFinal reports whether the alert was resolved for a reason that readings cannot undo.
func (a *Alert) isFinal() bool {
	return a.ResolvedBy == ByHand || a.ResolvedBy == ByRuleDeleted || a.ResolvedBy == ByRuleChanged
}

// Open reports whether the alert is not resolved.
func (a *Alert) Open() bool { return a.ResolvedBy == "" }

// State returns the alert's state.
func (a *Alert) State() AlertState { return stateOf(a.ResolvedBy) }

// resolve sets the time and the reason of an open alert's resolution. It reports whether the alert
// was open.
func (a *Alert) resolve(by string, now time.Time) bool {
	if !a.Open() {
		return false
	}
	a.ResolvedAt, a.ResolvedBy = now, by
	return true
}

// updated returns the next version of a stored alert. The argument "now" is the alert as computed
// from readings. The acknowledgements and mutes of both are merged; see remarks.merge. The stored
// alert's KnownAt, severity and final resolution stay; see isFinal. If the stored alert was replaced or
// withdrawn, its severity and its resolution do not stay.
func (a *Alert) updated(now Alert) Alert {
	s := a.remarks()
	s.merge(now.remarks())
	now.Acknowledged, now.MutedUntil, now.KnownAt = s.acknowledged, s.mutedUntil, a.KnownAt
	if !a.moved.IsZero() {
		return now
	}
	now.Severity = a.Severity
	if a.isFinal() {
		now.ResolvedAt, now.ResolvedBy = a.ResolvedAt, a.ResolvedBy
	}
	return now
}

// move marks the alert as replaced or withdrawn. The id stays valid: alertStore.find uses the generation
// and the extent to find the alert that replaced this one.
func (a *Alert) move(at time.Time, generation string, x extent) {
	a.moved, a.extent, a.generation = at, x, generation
}
