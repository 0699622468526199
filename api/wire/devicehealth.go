package wire

import "time"

// DeviceHealth describes how well a device reports.
type DeviceHealth struct {
	Device       string         `json:"device"`
	Name         string         `json:"name,omitempty"`
	Type         string         `json:"type,omitempty"`
	Status       string         `json:"status" enum:"active,inactive,maintenance"`
	Location     string         `json:"location,omitempty"`
	LastSeenAt   *time.Time     `json:"last_seen_at" doc:"when a reading arrived, to the minute; null if none has arrived"`
	Streams      []StreamLatest `json:"streams" doc:"the streams in which it has a live reading, the latest event time first"`
	LagSeconds   *float64       `json:"lag_seconds" doc:"from the event time of its latest reading to the arrival of this reading; null without a reading"`
	HoursWith    *int           `json:"hours_with" doc:"hours of the window with a reading in any stream, also an expired one; null if roll-ups are off"`
	HoursDue     *int           `json:"hours_due" doc:"hours of the window since the first reading of the device; null if roll-ups are off"`
	Completeness *float64       `json:"completeness" doc:"hours_with divided by hours_due; null if that is 0"`
	OpenAlerts   int            `json:"open_alerts"`
	LateAlerts   int            `json:"late_alerts" doc:"open alerts that late readings raised"`
	Severity     string         `json:"severity,omitempty" enum:"info,warning,critical" doc:"the highest severity of its open alerts"`
}

// StreamLatest is the latest reading of a device in a stream.
type StreamLatest struct {
	Stream  string    `json:"stream"`
	Time    time.Time `json:"time"`
	Arrived time.Time `json:"arrived"`
}

// DeviceHealthList is a page of devices, in the requested order.
type DeviceHealthList struct {
	Devices []DeviceHealth `json:"devices"`
	Total   int            `json:"total" doc:"number of devices that match"`
	From    time.Time      `json:"from" doc:"beginning of the window of completeness"`
	To      time.Time      `json:"to" doc:"end of the window: the beginning of this hour"`
	Hours   int            `json:"hours" doc:"number of hours in the window"`
	Next    string         `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
	Notes   []Note         `json:"notes,omitempty"`
}
