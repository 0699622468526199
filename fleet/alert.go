package fleet

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
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
	return varve.InvalidParam("state", "%s is unknown: use %s", quote.Text(string(s)), words(AlertStates()))
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
	return store.Key{PK: devicePK(tenant, device), SK: alertPrefix + id}
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
		it.GSI1 = store.Key{PK: shardPK(severityKind, a.Tenant, string(a.Severity), a.Device), SK: key.SK}
	} else {
		putTime(it.Attrs, movedAttr, a.moved)
		put(it.Attrs, "start", positionText(a.extent.start))
		put(it.Attrs, "opened", positionText(a.extent.opened))
	}
	put(it.Attrs, "stream", a.Stream)
	put(it.Attrs, "rule", a.Rule)
	put(it.Attrs, "incarnation", a.incarnation)
	put(it.Attrs, "severity", string(a.Severity))
	put(it.Attrs, "message", a.Message)
	put(it.Attrs, "resolvedBy", a.ResolvedBy)
	putTime(it.Attrs, "since", a.Since)
	putTime(it.Attrs, "openedAt", a.OpenedAt)
	putTime(it.Attrs, "resolvedAt", a.ResolvedAt)
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
	a := attrs{it: it}
	s := a.said("")
	alert := Alert{
		Tenant: tenant, Device: strings.TrimPrefix(it.PK, devicePK(tenant, "")), ID: strings.TrimPrefix(it.SK, alertPrefix),
		Stream: a.text("stream"), Rule: a.text("rule"), Severity: Severity(a.text("severity")), Message: a.text("message"),
		Value: it.Attrs["value"], Since: a.time("since"), OpenedAt: a.time("openedAt"), ResolvedAt: a.time("resolvedAt"),
		ResolvedBy: a.text("resolvedBy"), Late: it.Attrs["late"].Bool(), Acknowledged: s.acknowledged, MutedUntil: s.mutedUntil,
		incarnation: a.text("incarnation"), moved: a.time(movedAttr),
	}
	if alert.moved.IsZero() {
		return alert, a.err
	}
	var errs [2]error
	alert.extent.start, errs[0] = parsePosition(a.text("start"))
	alert.extent.opened, errs[1] = parsePosition(a.text("opened"))
	return alert, errors.Join(a.err, errs[0], errs[1])
}
