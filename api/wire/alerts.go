package wire

import (
	"encoding/json"
	"time"
)

// RulePost is the body of a request to create, edit or preview an alert rule.
type RulePost struct {
	ID         string          `json:"id,omitempty" doc:"optional: 1 to 64 of letters, digits, . _ -; default: computed from the content"`
	Kind       string          `json:"kind,omitempty" enum:"value,deadman" doc:"value: compares a field; deadman: no reading arrives; default value"`
	Stream     string          `json:"stream,omitempty" doc:"only readings of this stream"`
	Device     string          `json:"device,omitempty" doc:"only readings of this device; a rule names a stream, a device or both, except a deadman rule for all active devices"`
	Field      string          `json:"field,omitempty" doc:"value: the field that is compared"`
	Comparison string          `json:"comparison,omitempty" enum:">,>=,<,<=,==,!=" doc:"value: how; strings and booleans are == or != only"`
	Threshold  json.RawMessage `json:"threshold,omitempty" doc:"value: the number, string or boolean to compare with"`
	For        string          `json:"for,omitempty" doc:"how long the condition must hold, or how long the device is silent, as in 5m; default 0s"`
	Gap        string          `json:"gap,omitempty" doc:"value: the longest time between two readings of an alert: a longer one ends it. A duration from 1s, as in 10m, or none; default: ten times the usual interval, measured when the rule is made"`
	Severity   string          `json:"severity" enum:"info,warning,critical"`
	Late       string          `json:"late,omitempty" enum:"notify,digest,silent" doc:"delivery of late alerts: notify: a message for each; digest: one message for many; silent: none; default digest"`
}

// RuleBody is an alert rule.
type RuleBody struct {
	RulePost
	GapMeasured bool       `json:"gap_measured,omitempty" doc:"gap was measured, not given"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   *time.Time `json:"updated_at,omitempty" doc:"absent if it was never edited"`
	MutedUntil  *time.Time `json:"muted_until,omitempty" doc:"the end of the mute of its alerts; absent if they are not muted"`
}

// Mute sets the end of a mute. One of the two fields is set.
type Mute struct {
	Until *time.Time `json:"until,omitempty" doc:"the end, in RFC 3339"`
	For   string     `json:"for,omitempty" doc:"how long from now, as in 2h"`
}

// Acknowledgement names the person who acknowledges an alert.
type Acknowledgement struct {
	By   string `json:"by,omitempty" doc:"the person; default: the id of the API key"`
	Note string `json:"note,omitempty" doc:"at most 1024 bytes"`
}

// AcknowledgedBody is a recorded acknowledgement.
type AcknowledgedBody struct {
	Acknowledgement
	At time.Time `json:"at"`
}

// AlertChoice selects open alerts that match all set fields. IDs and All cannot be combined with
// other fields that select alerts.
type AlertChoice struct {
	IDs      []string `json:"ids,omitempty" maxItems:"1000" doc:"alerts, by id"`
	Rule     string   `json:"rule,omitempty" doc:"alerts of this rule"`
	Device   string   `json:"device,omitempty" doc:"alerts of this device"`
	Severity string   `json:"severity,omitempty" enum:"info,warning,critical" doc:"alerts of this severity"`
	All      bool     `json:"all,omitempty" doc:"all alerts"`
	Limit    int      `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"maximum number of alerts per request; default 100"`
	Cursor   string   `json:"cursor,omitempty" doc:"next of the previous answer, with the same other parameters"`
}

// ResolvedAlerts is the answer to an AlertChoice.
type ResolvedAlerts struct {
	Resolved []AlertBody `json:"resolved" doc:"the alerts that this call resolved"`
	Missing  []string    `json:"missing,omitempty" doc:"ids that no alert ever had"`
	Next     string      `json:"next,omitempty" doc:"send it as cursor to continue; absent at the end"`
}

// RuleAnswer is the answer to a submitted rule.
type RuleAnswer struct {
	Verdict string   `json:"verdict" enum:"stored,duplicate" doc:"duplicate: the rule existed already"`
	Rule    RuleBody `json:"rule"`
	Notes   []Note   `json:"notes,omitempty" doc:"names that do not exist"`
}

// RuleList lists the rules of a tenant, ordered by id.
type RuleList struct {
	Rules []RuleBody `json:"rules"`
}

// AlertBody is an alert.
type AlertBody struct {
	ID         string          `json:"id"`
	Device     string          `json:"device"`
	Stream     string          `json:"stream,omitempty"`
	Rule       string          `json:"rule" doc:"the rule's id"`
	Severity   string          `json:"severity" enum:"info,warning,critical"`
	State      string          `json:"state" enum:"open,resolved"`
	Message    string          `json:"message" doc:"the condition of the rule"`
	Value      json.RawMessage `json:"value,omitempty" doc:"of the reading that raised it"`
	Since      time.Time       `json:"since" doc:"the condition holds, by event time"`
	OpenedAt   time.Time       `json:"opened_at" doc:"event time at which the condition had held long enough"`
	ResolvedAt *time.Time      `json:"resolved_at" doc:"null: it is open"`
	ResolvedBy string          `json:"resolved_by,omitempty" enum:"condition,gap,hand,rule_deleted,rule_changed,withdrawn" doc:"condition: a reading for which it fails; gap: no reading for the rule's gap, and then another one; withdrawn: late readings have shown that it did not hold for long enough"`
	Late       bool            `json:"late" doc:"the reading that raised it arrived an hour or more after it happened"`
	KnownSince *time.Time      `json:"known_since,omitempty" doc:"when Varve first stored it; absent for alerts from old versions"`

	Acknowledged *AcknowledgedBody `json:"acknowledged,omitempty" doc:"the acknowledgement; absent without one"`
	MutedUntil   *time.Time        `json:"muted_until,omitempty" doc:"it is muted until then; absent if it is not. Its rule may be muted, too"`
}

// AlertList is a page of alerts, newest first.
type AlertList struct {
	Alerts []AlertBody `json:"alerts"`
	Next   string      `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
}

// RulePreview has the alerts that a rule would have opened in a window.
type RulePreview struct {
	Rule     RulePost         `json:"rule" doc:"the rule with its id, and with its gap"`
	From     time.Time        `json:"from"`
	To       time.Time        `json:"to"`
	Series   int              `json:"series" doc:"series of a stream and a device that have readings in the window"`
	Readings int              `json:"readings" doc:"stored readings that were read"`
	Total    int              `json:"total" doc:"number of alerts"`
	Alerts   []PreviewedAlert `json:"alerts" doc:"at most 1000, the newest first"`
	Notes    []Note           `json:"notes,omitempty" doc:"names that do not exist"`
}

// PreviewedAlert is an alert that a rule would have opened. It has some of the properties of AlertBody.
type PreviewedAlert struct {
	Device     string          `json:"device"`
	Stream     string          `json:"stream"`
	State      string          `json:"state" enum:"open,resolved"`
	Value      json.RawMessage `json:"value,omitempty" doc:"of the reading that would have raised it"`
	Since      time.Time       `json:"since"`
	OpenedAt   time.Time       `json:"opened_at"`
	ResolvedAt *time.Time      `json:"resolved_at" doc:"null: it would be open"`
	ResolvedBy string          `json:"resolved_by,omitempty" enum:"condition,gap"`
	Late       bool            `json:"late"`
}
