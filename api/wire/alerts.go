package wire

import (
	"encoding/json"
	"time"
)

// RulePost is an alert rule as it is sent.
type RulePost struct {
	ID         string          `json:"id,omitempty" doc:"optional: 1 to 64 of letters, digits, . _ -; without one, it is made of the content"`
	Kind       string          `json:"kind,omitempty" enum:"value,deadman" doc:"value: of a field; deadman: that no reading arrives; default value"`
	Stream     string          `json:"stream,omitempty" doc:"only readings of this stream"`
	Device     string          `json:"device,omitempty" doc:"only readings of this device; a rule names a stream, a device or both, save a deadman rule about all active devices"`
	Field      string          `json:"field,omitempty" doc:"value: the field that is compared"`
	Comparison string          `json:"comparison,omitempty" enum:">,>=,<,<=,==,!=" doc:"value: how; strings and booleans are == or != only"`
	Threshold  json.RawMessage `json:"threshold,omitempty" doc:"value: with what: a number, string or boolean"`
	For        string          `json:"for,omitempty" doc:"how long the condition must hold, or how long there is no reading, as in 5m; default 0s"`
	Severity   string          `json:"severity" enum:"info,warning,critical"`
}

// RuleBody is an alert rule.
type RuleBody struct {
	RulePost
	CreatedAt time.Time `json:"createdAt"`
}

// RuleAnswer says what became of a rule.
type RuleAnswer struct {
	Verdict string   `json:"verdict" enum:"stored,duplicate" doc:"duplicate: it was there already"`
	Rule    RuleBody `json:"rule"`
}

// RuleList is the rules of a tenant, in the order of their ids.
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
	Message    string          `json:"message" doc:"what the rule says"`
	Value      json.RawMessage `json:"value,omitempty" doc:"of the reading that raised it"`
	Since      time.Time       `json:"since" doc:"the condition holds, by event time"`
	OpenedAt   time.Time       `json:"openedAt" doc:"it has held as long as the rule says, by event time"`
	ResolvedAt *time.Time      `json:"resolvedAt" doc:"null: it is open"`
	ResolvedBy string          `json:"resolvedBy,omitempty" enum:"condition,hand" doc:"condition: it holds no more"`
	Late       bool            `json:"late" doc:"the reading that raised it arrived an hour or more after it happened, or after readings of a later time"`
}

// AlertList is a page of alerts, the newest first.
type AlertList struct {
	Alerts []AlertBody `json:"alerts"`
	Next   string      `json:"next,omitempty" doc:"send it as cursor for the next page; absent at the end"`
}
