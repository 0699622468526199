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
	Labels     map[string]string `json:"labels,omitempty" doc:"the tags of line protocol in its name"`
	CreatedAt  time.Time         `json:"created_at" doc:"when it was registered: by a request, or by its first reading"`
	UpdatedAt  time.Time         `json:"updated_at" doc:"when it was last changed by a request"`
	LastSeenAt *time.Time        `json:"last_seen_at" doc:"when a reading arrived, to the minute; null if none has arrived"`
}

// DeviceList is a page of devices.
type DeviceList struct {
	Devices []DeviceBody `json:"devices"`
	Next    string       `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
}

// StreamDevice is a device with a live reading in a stream.
type StreamDevice struct {
	Device  string    `json:"device"`
	Status  string    `json:"status"`
	Type    string    `json:"type,omitempty"`
	Time    time.Time `json:"time" doc:"event time of the last reading"`
	Arrived time.Time `json:"arrived" doc:"arrival of the last reading"`
}

// StreamDeviceList is a page of the devices of a stream.
type StreamDeviceList struct {
	Devices []StreamDevice `json:"devices"`
	Next    string         `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
}

// SeriesBody names a series of a stream.
type SeriesBody struct {
	Device string `json:"device"`
}

// SeriesList is a page of the series of a stream.
type SeriesList struct {
	Series []SeriesBody `json:"series" doc:"by device"`
	Next   string       `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
	// Damaged lists damage that was skipped.
	Damaged []SeriesDamage `json:"damaged,omitempty" doc:"with damaged=skip: damage that may have hidden devices"`
}

// SeriesDamage describes the damage of a table that was skipped while its series were listed.
type SeriesDamage struct {
	Table  string `json:"table,omitempty" doc:"the table; for keys of the tenant default"`
	Places int    `json:"places" doc:"number of damaged rows or lost ranges; varve verify names them"`
}

// CountsBody has the numbers of devices and readings of a stream in a window.
type CountsBody struct {
	Source   string          `json:"source" enum:"readings,rollups" doc:"readings: live readings were counted; rollups: also expired ones"`
	Devices  int             `json:"devices" doc:"devices with at least one counted reading"`
	Readings int64           `json:"readings" doc:"distinct readings of all devices"`
	Counts   []DeviceCount   `json:"counts" doc:"by device, without devices that have none"`
	Coverage json.RawMessage `json:"coverage,omitempty" doc:"the tables that were read; for keys of the tenant default"`
	Notes    []Note          `json:"notes,omitempty" doc:"named devices that do not exist"`
}

// DeviceCount is the number of readings of one device.
type DeviceCount struct {
	Device   string `json:"device"`
	Readings int64  `json:"readings"`
}

// Deleted names the deleted object.
type Deleted struct {
	Deleted string `json:"deleted"`
}
