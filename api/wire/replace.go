package wire

import "time"

// Replacement replaces the device or the time of all readings, whatever their text contains.
type Replacement struct {
	Device string    // if empty, the devices are unchanged
	Time   time.Time // if zero, the times are unchanged
}

// replacedDevice returns the device that all readings get, or "" if devices are not replaced.
func (d *Defaults) replacedDevice() string {
	if d.Replace == nil {
		return ""
	}
	return d.Replace.Device
}

// replacedTime returns the time that all readings get, or the zero time if times are not replaced.
func (d *Defaults) replacedTime() time.Time {
	if d.Replace == nil {
		return time.Time{}
	}
	return d.Replace.Time
}
