package wire

import (
	"encoding/json"
	"time"
)

// DevicePut is the description of a device. Each field may be omitted, which equals
// empty.
type DevicePut struct {
	Name       string          `json:"name,omitempty" doc:"for people"`
	Type       string          `json:"type,omitempty" doc:"as in sensor or gateway"`
	Status     string          `json:"status,omitempty" enum:"active,inactive,maintenance" doc:"default active"`
	Location   string          `json:"location,omitempty"`
	Firmware   string          `json:"firmware,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty" doc:"a JSON object of anything else"`
	Retention  string          `json:"retention,omitempty" doc:"how long its readings live, if shorter than their stream's retention, as in 30d"`
}

// DeviceBody is a device.
type DeviceBody struct {
	Device string `json:"device"`
	DevicePut
	CreatedAt  time.Time  `json:"createdAt" doc:"when it was registered: by hand, or by its first reading"`
	UpdatedAt  time.Time  `json:"updatedAt" doc:"when it was last changed by hand"`
	LastSeenAt *time.Time `json:"lastSeenAt" doc:"when a reading arrived; it may lie up to a minute before the last arrival; null: none yet"`
}

// DeviceList is a page of devices.
type DeviceList struct {
	Devices []DeviceBody `json:"devices"`
	Next    string       `json:"next,omitempty" doc:"send it as cursor for the next page; absent at the end"`
}

// Deleted names what was deleted.
type Deleted struct {
	Deleted string `json:"deleted"`
}
