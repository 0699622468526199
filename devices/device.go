package devices

import (
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

// Status is the expected activity of a device.
type Status string

// The statuses.
const (
	Active      Status = "active"      // the device should send readings
	Inactive    Status = "inactive"    // the device should not send readings
	Maintenance Status = "maintenance" // the device may send readings or not
)

// Statuses returns all statuses.
func Statuses() []Status { return []Status{Active, Inactive, Maintenance} }

// ParseStatus parses a status. For another text, ParseStatus fails with Invalid.
func ParseStatus(s string) (Status, error) {
	if slices.Contains(Statuses(), Status(s)) {
		return Status(s), nil
	}
	return "", varve.InvalidParam("status", "%s is unknown: use %s", quote.Text(s), param.Alternatives(Statuses()))
}

// Limits of a device's texts, in bytes.
const (
	maxText       = 256
	maxAttributes = 32 << 10
)

// Device is the record of a device.
type Device struct {
	Tenant, Device string
	Name           string // name for people
	Type           string // such as sensor or gateway
	Status         Status
	Location       string
	Firmware       string
	Attributes     varve.Value // a JSON object, or no value
	// Retention is the retention of the device's readings, if it is shorter than the retention of
	// their stream. 0 means no override.
	Retention time.Duration

	CreatedAt time.Time // when the device was registered, by hand or by its first reading
	UpdatedAt time.Time // when the device was last changed by hand
	// LastSeenAt is the arrival of a recent reading. The newest reading may have arrived up to a
	// minute later. Zero means that no reading has arrived.
	LastSeenAt time.Time
}

// Validate checks a device, except its retention. A missing status becomes Active. For an invalid
// device, Validate fails with Invalid.
func (d *Device) Validate() error {
	if err := varve.ValidateNewDevice(d.Device); err != nil {
		return varve.InvalidParam("device", "%s", err)
	}
	if d.Status == "" {
		d.Status = Active
	}
	if _, err := ParseStatus(string(d.Status)); err != nil {
		return err
	}
	for _, t := range []struct{ name, text string }{{"name", d.Name}, {"type", d.Type}, {"location", d.Location}, {"firmware", d.Firmware}} {
		if err := param.CheckText(t.name, t.text, maxText); err != nil {
			return err
		}
	}
	return param.CheckObject("attributes", d.Attributes, maxAttributes)
}

const metadataSK = "#METADATA"

// attrLastSeen is the attribute for the last-seen time, in items of devices and in last-seen records.
const attrLastSeen = "lastSeenAt"

func metadataKey(tenant, device string) store.Key {
	return store.Key{PK: registry.DevicePK(tenant, device), SK: metadataSK}
}

// devicePrefix is the prefix of the sort keys of devices in the index of statuses.
const devicePrefix = "DEVICE#"

const statusKind = "DEVICE_STATUS"

// item returns a new item for the device, with version 1.
func (d *Device) item() store.Item {
	it := store.Item{
		Key:   metadataKey(d.Tenant, d.Device),
		GSI1:  store.Key{PK: registry.ShardPK(statusKind, d.Tenant, string(d.Status), d.Device), SK: devicePrefix + d.Device},
		Attrs: map[string]varve.Value{registry.AttrVersion: varve.IntValue(1)},
	}
	registry.PutText(it.Attrs, "name", d.Name)
	registry.PutText(it.Attrs, "type", d.Type)
	registry.PutText(it.Attrs, "status", string(d.Status))
	registry.PutText(it.Attrs, "location", d.Location)
	registry.PutText(it.Attrs, "firmware", d.Firmware)
	registry.PutValue(it.Attrs, "attributes", d.Attributes)
	if d.Retention != 0 {
		registry.PutText(it.Attrs, "retention", timefmt.FormatDuration(d.Retention))
	}
	registry.PutTime(it.Attrs, "createdAt", d.CreatedAt)
	registry.PutTime(it.Attrs, "updatedAt", d.UpdatedAt)
	registry.PutTime(it.Attrs, attrLastSeen, d.LastSeenAt)
	return it
}

func deviceOf(tenant string, it *store.Item) (Device, error) {
	a := registry.NewReader(it)
	d := Device{
		Tenant: tenant, Device: strings.TrimPrefix(it.PK, registry.DevicePK(tenant, "")),
		Name: a.Text("name"), Type: a.Text("type"), Status: Status(a.Text("status")),
		Location: a.Text("location"), Firmware: a.Text("firmware"), Attributes: it.Attrs["attributes"],
		CreatedAt: a.Time("createdAt"), UpdatedAt: a.Time("updatedAt"), LastSeenAt: a.Time(attrLastSeen),
	}
	if text := a.Text("retention"); text != "" {
		var err error
		if d.Retention, err = timefmt.ParseDuration(text); err != nil {
			a.Fail("retention", err)
		}
	}
	return d, a.Err()
}
