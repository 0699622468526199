package wire

import "time"

// Replacement replaces the device or the time of readings, whatever their text contains.
type Replacement struct {
	Device string    // if empty, the devices are unchanged
	Time   time.Time // if zero, the times are unchanged
}

// replacedDevice returns the device that replaces others, or "".
func (d *Defaults) replacedDevice() string {
	if d.Replace == nil {
		return ""
	}
	return d.Replace.Device
}

// replacedTime returns the time that replaces others, or the zero time.
func (d *Defaults) replacedTime() time.Time {
	if d.Replace == nil {
		return time.Time{}
	}
	return d.Replace.Time
}
