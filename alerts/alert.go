package alerts

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Why an alert is resolved.
const (
	ByCondition   = "condition"    // a reading for which it does not hold
	ByGap         = "gap"          // no reading for as long as the rule's gap, and then another one
	ByHand        = "hand"         //
	ByRuleDeleted = "rule_deleted" //
	ByRuleChanged = "rule_changed" // the rule's condition is another one now
	Withdrawn     = "withdrawn"    // late readings have shown that the condition did not hold for long enough
)

// AlertState says whether an alert is over.
type AlertState string

// The states.
const (
	Open     AlertState = "open"
	Resolved AlertState = "resolved"
)

// AlertStates returns all of them.
func AlertStates() []AlertState { return []AlertState{Open, Resolved} }

func checkAlertState(s AlertState) error {
	if slices.Contains(AlertStates(), s) {
		return nil
	}
	return varve.InvalidParam("state", "%s is unknown: use %s", quote.Text(string(s)), param.Alternatives(AlertStates()))
}

// Alert is a stretch of time for which a rule's condition held.
type Alert struct {
	Tenant, Device string
	ID             string // sorts as Since does
	Stream         string // "" of a deadman rule that names none
	Rule           string // its id
	Severity       Severity
	Message        string      // what the rule says
	Value          varve.Value // of the reading that raised it; none of a deadman rule
	Since          time.Time   // the condition holds
	OpenedAt       time.Time   // it has held as long as the rule says
	ResolvedAt     time.Time   // zero if it is open
	ResolvedBy     string      // why it is resolved; "" if it is open
	// Late reports whether the reading that raised it arrived an hour or more after
	// it happened.
	Late         bool
	Acknowledged Acknowledgement
	MutedUntil   time.Time // zero if it is not muted

	incarnation string    // of its rule; "" if it was written before that was recorded
	moved       time.Time // when another alert took its place, or none; zero if it stands
	extent      extent    // of one that has moved
}

// extent is the stretch of readings that an alert was raised by: from the first,
// which its id is made of, to the one at which it opened.
type extent struct {
	start, opened varve.Position
}

// said returns what people said of the alert.
func (a *Alert) said() said {
	s := said{acknowledged: a.Acknowledged, mutedUntil: a.MutedUntil}
	if a.ResolvedBy == ByHand {
		s.resolved = a.ResolvedAt
	}
	return s
}

// settled reports whether it was resolved for a reason that readings do not
// change.
func (a *Alert) settled() bool {
	return a.ResolvedBy == ByHand || a.ResolvedBy == ByRuleDeleted || a.ResolvedBy == ByRuleChanged
}

// Open reports whether the alert is not resolved.
func (a *Alert) Open() bool { return a.ResolvedBy == "" }

// State returns the alert's state.
func (a *Alert) State() AlertState { return stateOf(a.ResolvedBy) }

func stateOf(resolvedBy string) AlertState {
	if resolvedBy == "" {
		return Open
	}
	return Resolved
}

const alertPrefix = "ALERT#"

const severityKind = "ALERT_SEVERITY"

func alertKey(tenant, device, id string) store.Key {
	return store.Key{PK: registry.DevicePK(tenant, device), SK: alertPrefix + id}
}

// alertIDPK is the partition of the second index in which one alert is found by
// its id.
func alertIDPK(tenant, id string) string { return "ALERT_ID#" + tenant + "/" + id }

// alertID makes an id of what an alert is: a rule, a series, and the reading at
// which the condition began to hold.
func alertID(rule *Rule, s varve.Series, start varve.Position) string {
	r := varve.Reading{Fields: []varve.Field{ // in the order of the names
		{Name: "device", Value: varve.StringValue(s.Device)},
		{Name: "id", Value: varve.StringValue(start.ID.String())},
		{Name: "rule", Value: varve.StringValue(rule.name())},
		{Name: "stream", Value: varve.StringValue(s.Stream)},
	}}
	return hexTime(start.Time) + "-" + r.ContentID().String()
}

// alertIDLen is the length of every alert's id: of its time, a hyphen and a hash.
const alertIDLen = 16 + 1 + 11

// usualAlertAttrs is how many attributes an alert usually has.
const usualAlertAttrs = 14

// item returns the alert as it is stored. One that has moved is found by its id,
// and is in no list.
func (a *Alert) item(version int64) store.Item {
	key := alertKey(a.Tenant, a.Device, a.ID)
	it := store.Item{Key: key, GSI2: store.Key{PK: alertIDPK(a.Tenant, a.ID), SK: key.SK}, Attrs: make(map[string]varve.Value, usualAlertAttrs)}
	it.Attrs["version"], it.Attrs["late"] = varve.IntValue(version), varve.BoolValue(a.Late)
	if a.moved.IsZero() {
		it.GSI1 = store.Key{PK: registry.ShardPK(severityKind, a.Tenant, string(a.Severity), a.Device), SK: key.SK}
	} else {
		registry.PutTime(it.Attrs, movedAttr, a.moved)
		registry.PutText(it.Attrs, "start", positionText(a.extent.start))
		registry.PutText(it.Attrs, "opened", positionText(a.extent.opened))
	}
	registry.PutText(it.Attrs, "stream", a.Stream)
	registry.PutText(it.Attrs, "rule", a.Rule)
	registry.PutText(it.Attrs, "incarnation", a.incarnation)
	registry.PutText(it.Attrs, "severity", string(a.Severity))
	registry.PutText(it.Attrs, "message", a.Message)
	registry.PutText(it.Attrs, "resolvedBy", a.ResolvedBy)
	registry.PutTime(it.Attrs, "since", a.Since)
	registry.PutTime(it.Attrs, "openedAt", a.OpenedAt)
	registry.PutTime(it.Attrs, "resolvedAt", a.ResolvedAt)
	s := a.said()
	s.put(it.Attrs, "")
	if !a.Value.IsZero() {
		it.Attrs["value"] = a.Value
	}
	return it
}

// movedAttr is the attribute that alerts have that are in no list.
const movedAttr = "movedAt"

func alertOf(tenant string, it *store.Item) (Alert, error) {
	a := registry.NewReader(it)
	s := saidOf(a, "")
	alert := Alert{
		Tenant: tenant, Device: strings.TrimPrefix(it.PK, registry.DevicePK(tenant, "")), ID: strings.TrimPrefix(it.SK, alertPrefix),
		Stream: a.Text("stream"), Rule: a.Text("rule"), Severity: Severity(a.Text("severity")), Message: a.Text("message"),
		Value: it.Attrs["value"], Since: a.Time("since"), OpenedAt: a.Time("openedAt"), ResolvedAt: a.Time("resolvedAt"),
		ResolvedBy: a.Text("resolvedBy"), Late: it.Attrs["late"].Bool(), Acknowledged: s.acknowledged, MutedUntil: s.mutedUntil,
		incarnation: a.Text("incarnation"), moved: a.Time(movedAttr),
	}
	if alert.moved.IsZero() {
		return alert, a.Err()
	}
	var errs [2]error
	alert.extent.start, errs[0] = parsePosition(a.Text("start"))
	alert.extent.opened, errs[1] = parsePosition(a.Text("opened"))
	return alert, errors.Join(a.Err(), errs[0], errs[1])
}
