package wire

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// longPrecisions has the precisions that only line protocol has, by name.
var longPrecisions = map[string]Precision{"m": 60 * Seconds, "h": 3600 * Seconds, "auto": LineAuto}

// ParseParams reads the parameters of a write, except the format, into defaults and columns. The result
// arrivalIsTime reports whether readings without a time happened at their arrival.
func ParseParams(q url.Values, d *Defaults) (c Columns, arrivalIsTime bool, err error) {
	d.Device = q.Get("device")
	if q.Has("device") {
		if err := varve.ValidateDevice(d.Device); err != nil {
			return c, false, varve.InvalidParam("query.device", "%s", err)
		}
	}
	if d.Time, err = parseTimeFormat(q); err != nil {
		return c, false, err
	}
	switch text := q.Get("fields"); text {
	case "", "nested":
	case "flat":
		d.Flat = true
	default:
		return c, false, varve.InvalidParam("query.fields", "%s is unknown: use nested or flat", quote.Text(text))
	}
	switch text := q.Get("time"); text {
	case "", "required":
	case "arrival":
		arrivalIsTime = true
	default:
		return c, false, varve.InvalidParam("query.time", "%s is unknown: use required or arrival", quote.Text(text))
	}
	c, err = ParseColumns(q)
	return c, arrivalIsTime, err
}

func parseTimeFormat(q url.Values) (f TimeFormat, err error) {
	if text := q.Get("precision"); text != "" {
		var isLong bool
		if f.Precision, isLong = longPrecisions[text]; !isLong {
			if f.Precision, err = ParsePrecision(text); err != nil {
				return f, varve.InvalidParam("query.precision", "%s", err)
			}
		}
	}
	if name := q.Get("timezone"); name != "" {
		if f.Location, err = time.LoadLocation(name); err != nil || f.Location == time.Local { // Local is the zone of this machine
			return f, varve.InvalidParam("query.timezone", "%s is unknown: use a name as in Europe/Berlin", quote.Text(name))
		}
	}
	if f.Choice, err = ParseLocalChoice(q.Get("dst")); err != nil {
		return f, varve.InvalidParam("query.dst", "%s", err)
	}
	return f, nil
}

// FormatParams returns the parameters that ParseParams reads as these defaults and columns.
func FormatParams(d *Defaults, c *Columns, arrivalIsTime bool) url.Values {
	q := url.Values{}
	set := func(name, text string) {
		if text != "" {
			q.Set(name, text)
		}
	}
	set("device", d.Device)
	if p := d.Time.Precision; p != 0 {
		text := p.String()
		for name, long := range longPrecisions {
			if long == p {
				text = name
			}
		}
		set("precision", text)
	}
	if d.Time.Location != nil {
		set("timezone", d.Time.Location.String())
	}
	set("dst", map[LocalChoice]string{EarlierLocal: "earlier", LaterLocal: "later"}[d.Time.Choice])
	if d.Flat {
		set("fields", "flat")
	}
	if arrivalIsTime {
		set("time", "arrival")
	}
	for name, text := range map[string]string{
		"columns": strings.Join(c.Names, ","), "time_column": c.Time, "device_column": c.Device, "id_column": c.ID,
		"name_column": c.Name, "value_column": c.Value, "device_columns": c.DeviceColumns, "null": strings.Join(c.Nulls, ","),
	} {
		set(name, text)
	}
	var types []string
	for _, name := range slices.Sorted(maps.Keys(c.Kinds)) {
		types = append(types, name+":"+c.Kinds[name].String())
	}
	set("types", strings.Join(types, ","))
	if c.Delimiter != 0 {
		set("delimiter", string(c.Delimiter))
	}
	if c.Decimal == ',' {
		set("decimal", ",")
	}
	if c.SkipBadCells {
		set("bad_cells", "skip")
	}
	return q
}
