package fleet

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

// Status says what is expected of a device.
type Status string

// The statuses.
const (
	Active      Status = "active"      // it reports
	Inactive    Status = "inactive"    // it does not, and should not
	Maintenance Status = "maintenance" // it may or may not
)

// Statuses returns all of them.
func Statuses() []Status { return []Status{Active, Inactive, Maintenance} }

// ParseStatus reads a status.
func ParseStatus(s string) (Status, error) {
	if slices.Contains(Statuses(), Status(s)) {
		return Status(s), nil
	}
	return "", varve.InvalidParam("status", "%s is unknown: use %s", quote.Text(s), words(Statuses()))
}

// Limits of a device's texts, in bytes.
const (
	maxText       = 256
	maxAttributes = 32 << 10
)

// Device is what is known of a device.
type Device struct {
	Tenant, Device string
	Name           string // for people
	Type           string // as in sensor, gateway
	Status         Status
	Location       string
	Firmware       string
	Attributes     varve.Value // a JSON object, or no value
	// Retention is how long its readings live, if that is shorter than what
	// their stream says; 0: it is not.
	Retention time.Duration

	CreatedAt  time.Time // registered: by hand, or by its first reading
	UpdatedAt  time.Time // changed by hand
	LastSeenAt time.Time // a reading arrived, up to a minute before the last one; zero: none yet
}

// Validate checks what can be said of a device without its streams. A status
// that is missing is active.
func (d *Device) Validate() error {
	if err := varve.ValidateDevice(d.Device); err != nil {
		return varve.InvalidParam("device", "%s", err)
	}
	if d.Status == "" {
		d.Status = Active
	}
	if _, err := ParseStatus(string(d.Status)); err != nil {
		return err
	}
	for _, t := range []struct{ name, text string }{{"name", d.Name}, {"type", d.Type}, {"location", d.Location}, {"firmware", d.Firmware}} {
		if err := checkText(t.name, t.text, maxText); err != nil {
			return err
		}
	}
	return checkObject("attributes", d.Attributes, maxAttributes)
}

func checkText(param, text string, most int) error {
	switch {
	case len(text) > most:
		return varve.InvalidParam(param, "it has %d bytes, the limit is %d", len(text), most)
	case !utf8.ValidString(text):
		return varve.InvalidParam(param, "it is not valid UTF-8")
	}
	return nil
}

// checkObject checks that a value is a JSON object, if there is one.
func checkObject(param string, v varve.Value, most int) error {
	switch {
	case v.IsZero():
		return nil
	case v.Kind() != varve.KindJSON || !strings.HasPrefix(v.Text(), "{"):
		return varve.InvalidParam(param, `it is no JSON object, as in {"building":"A"}`)
	case len(v.Text()) > most:
		return varve.InvalidParam(param, "it has %d bytes, the limit is %d", len(v.Text()), most)
	}
	return nil
}

const metadataSK = "#METADATA"

func metadataKey(tenant, device string) store.Key {
	return store.Key{PK: devicePK(tenant, device), SK: metadataSK}
}

// devicePrefix begins the sort keys of devices in the index of statuses.
const devicePrefix = "DEVICE#"

const statusKind = "DEVICE_STATUS"

func (d *Device) item(version int64) store.Item {
	it := store.Item{
		Key:   metadataKey(d.Tenant, d.Device),
		GSI1:  store.Key{PK: shardPK(statusKind, d.Tenant, string(d.Status), d.Device), SK: devicePrefix + d.Device},
		Attrs: map[string]varve.Value{"version": varve.IntValue(version)},
	}
	put(it.Attrs, "name", d.Name)
	put(it.Attrs, "type", d.Type)
	put(it.Attrs, "status", string(d.Status))
	put(it.Attrs, "location", d.Location)
	put(it.Attrs, "firmware", d.Firmware)
	if !d.Attributes.IsZero() {
		it.Attrs["attributes"] = d.Attributes
	}
	if d.Retention != 0 {
		put(it.Attrs, "retention", timefmt.FormatDuration(d.Retention))
	}
	putTime(it.Attrs, "createdAt", d.CreatedAt)
	putTime(it.Attrs, "updatedAt", d.UpdatedAt)
	putTime(it.Attrs, attrSeen, d.LastSeenAt)
	return it
}

// deviceOf reads an item that item wrote.
func deviceOf(tenant string, it *store.Item) (Device, error) {
	a := attrs{it: it}
	d := Device{
		Tenant: tenant, Device: strings.TrimPrefix(it.PK, devicePK(tenant, "")),
		Name: a.text("name"), Type: a.text("type"), Status: Status(a.text("status")),
		Location: a.text("location"), Firmware: a.text("firmware"), Attributes: it.Attrs["attributes"],
		CreatedAt: a.time("createdAt"), UpdatedAt: a.time("updatedAt"), LastSeenAt: a.time(attrSeen),
	}
	if text := a.text("retention"); text != "" && a.err == nil {
		d.Retention, a.err = timefmt.ParseDuration(text)
	}
	return d, a.err
}

// words lists words for a message.
func words[W ~string](list []W) string {
	var b strings.Builder
	for i, w := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}
