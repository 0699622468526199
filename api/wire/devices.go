package wire

import (
	"encoding/json"
	"time"
)

// DevicePut is the description of a device. An omitted field is the same as an empty one.
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
	CreatedAt  time.Time  `json:"createdAt" doc:"when it was registered: by a request, or by its first reading"`
	UpdatedAt  time.Time  `json:"updatedAt" doc:"when it was last changed by a request"`
	LastSeenAt *time.Time `json:"lastSeenAt" doc:"when a reading arrived, to the minute; null if none has arrived"`
}

// DeviceList is a page of devices.
type DeviceList struct {
	Devices []DeviceBody `json:"devices"`
	Next    string       `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
}

// Deleted names the deleted object.
type Deleted struct {
	Deleted string `json:"deleted"`
}
