package wire

import (
	"encoding/json"
	"time"
)

// LogPost is the body of a request to add an entry to a device log.
type LogPost struct {
	Time        json.RawMessage `json:"time" doc:"RFC 3339, or a number of milliseconds since 1970"`
	ID          string          `json:"id,omitempty" doc:"optional; without one, the same content at the same time is the same entry, and with one, other content is a conflict"`
	State       string          `json:"state" doc:"as in NORMAL or WARNING: 1 to 64 of letters, digits, . _ -"`
	Message     string          `json:"message,omitempty" doc:"for people; up to 4 KiB"`
	Operator    string          `json:"operator,omitempty" doc:"who sees to the device"`
	EscalatedTo string          `json:"escalated_to,omitempty" doc:"the informed supervisor"`
	Attributes  json.RawMessage `json:"attributes,omitempty" doc:"a JSON object of anything else, up to 8 KiB"`
}

// LogBody is an entry of a device log.
type LogBody struct {
	Device      string          `json:"device"`
	Time        time.Time       `json:"time"`
	ID          string          `json:"id"`
	Arrived     time.Time       `json:"arrived"`
	State       string          `json:"state"`
	Message     string          `json:"message,omitempty"`
	Operator    string          `json:"operator,omitempty"`
	EscalatedTo string          `json:"escalated_to,omitempty"`
	Attributes  json.RawMessage `json:"attributes,omitempty"`
}

// LogAnswer is the answer to a submitted log entry.
type LogAnswer struct {
	Verdict string   `json:"verdict" enum:"stored,duplicate,conflict" doc:"duplicate: the entry existed already; conflict: its id is stored with other content"`
	Message string   `json:"message,omitempty" doc:"of a conflict: both contents, and the remedy"`
	Log     LogBody  `json:"log" doc:"the stored entry"`
	Sent    *LogBody `json:"sent,omitempty" doc:"of a conflict: the submitted entry, which is not stored"`
}

// LogList is a page of log entries.
type LogList struct {
	Logs []LogBody `json:"logs"`
	Next string    `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
}
