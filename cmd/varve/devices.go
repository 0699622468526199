package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/timefmt"
)

type deviceCommands struct{ *app }

func devicesCommand(a *app) *cobra.Command {
	c := deviceCommands{a}
	return group("devices", "List and describe devices",
		c.list(), c.get(), c.set(), c.delete(), erasureCommands{a}.erase())
}

var deviceStatuses = []string{"active", "inactive", "maintenance"}

func (a deviceCommands) list() *cobra.Command {
	var q client.DeviceQuery
	var limit int
	var stream, by string
	cmd := &cobra.Command{
		Use: "list", Short: "List the devices, in the order of their names", Args: cobra.NoArgs,
		Long: "List the devices, in the order of their names.\n" +
			"With --stream, list registered devices with a live reading in the stream, and the times of the last one.\n\n" +
			"With --silent-since, list devices without a reading since that time. The last arrival in any stream counts, to the minute.\n" +
			"With --stream, the event time of the last reading in the stream counts, or its arrival with --by arrival.\n\n" +
			"On a terminal, LAST DAY shows the readings per hour of up to 200 devices, if they can be counted quickly.",
		Example: "  varve devices list --status maintenance\n" +
			"  varve devices list --attribute site:north --attribute floor:2\n" +
			"  varve devices list --silent-since -24h\n" +
			"  varve devices list --stream weather --silent-since 2026-04-20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if q.By, err = query.ParseBy(by); err != nil {
				return usageError{fmt.Errorf("--%w", err)}
			}
			if by != "" && stream == "" {
				return usageError{errors.New("--by: requires --stream: add it, or omit --by")}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			if stream != "" {
				return a.listOfStream(cmd, c, stream, q, limit)
			}
			list, more, err := gather(limit, func(l client.List) ([]wire.DeviceBody, string, error) {
				page, err := c.SelectDevices(cmd.Context(), q, l)
				return page.Devices, page.Next, err
			})
			if err != nil {
				return err
			}
			names := make([]string, len(list))
			for i := range list {
				names[i] = list[i].Device
			}
			bars := pictures(a).activity(cmd.Context(), c, "", names)
			return errors.Join(a.showDevices(list, emptyText(&q, ""), bars), a.sayCut(more))
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Status, "status", "", "only devices of this `status`: active, inactive or maintenance")
	f.StringVar(&q.Type, "type", "", "only devices of this `type`")
	attributeFlag(cmd, &q.Attributes)
	f.StringVar(&stream, "stream", "", "only devices with a live reading in this `stream`")
	f.StringVar(&q.SilentSince, "silent-since", "", "only devices without a reading since this `time`: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo")
	f.StringVar(&by, "by", "", "with --stream, the time that counts: event or arrival (default: event)")
	limitFlag(cmd, &limit, "devices")
	a.words(cmd, "status", deviceStatuses...)
	a.words(cmd, "by", "event", "arrival")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func (a deviceCommands) listOfStream(cmd *cobra.Command, c *client.Client, stream string, q client.DeviceQuery, limit int) error {
	list, more, err := gather(limit, func(l client.List) ([]wire.StreamDevice, string, error) {
		page, err := c.StreamDevices(cmd.Context(), stream, q, l)
		return page.Devices, page.Next, err
	})
	if err != nil {
		return err
	}
	g := listing{header: []string{"device", "status", "type", "last reading", "arrived"}, empty: emptyText(&q, stream), explain: true}
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Device
		g.add(d.Device, d.Status, d.Type, exact(d.Time), exact(d.Arrived))
	}
	g.addActivity(pictures(a).activity(cmd.Context(), c, stream, names))
	return errors.Join(a.show(&g, wire.StreamDeviceList{Devices: list}), a.sayCut(more))
}

func limitFlag(cmd *cobra.Command, limit *int, things string) {
	cmd.Flags().IntVar(limit, "limit", 0, "maximum number of "+things+"; 0 means all")
}

// pageSize is the number of entries in a requested page.
const pageSize = 1000

// gather reads the pages of a list up to a limit, and reports whether more exist.
func gather[T any](limit int, get func(client.List) ([]T, string, error)) (all []T, more bool, err error) {
	if limit < 0 {
		return nil, false, errNegativeLimit(limit)
	}
	all = []T{}
	for one, err := range client.Pages(client.List{Limit: pageSize}, get) {
		if err != nil {
			return nil, false, err
		}
		if limit > 0 && len(all) == limit {
			return all, true, nil
		}
		all = append(all, one)
	}
	return all, false, nil
}

// emptyText explains an empty list of devices. The argument "stream" is "" if the query names no stream.
func emptyText(q *client.DeviceQuery, stream string) string {
	chosen := ""
	switch {
	case len(q.Attributes) > 0:
		chosen = " with this status, type and attributes"
	case q.Status+q.Type != "":
		chosen = " of this status and type"
	}
	switch {
	case q.SilentSince != "" && stream != "":
		return fmt.Sprintf("No device%s with a live reading in stream %s is silent since %s.", chosen, stream, sinceText(q.SilentSince))
	case q.SilentSince != "":
		return fmt.Sprintf("No device%s is silent since %s.", chosen, sinceText(q.SilentSince))
	case stream != "":
		return fmt.Sprintf("No registered device%s has a live reading in stream %s.", chosen, stream)
	}
	return "No such devices: a first reading or varve devices set registers one."
}

// sinceText returns a time as the user wrote it, unless it depends on the present time. A time such
// as -24h or today is returned as an absolute time.
func sinceText(text string) string {
	if t, ok, err := timefmt.ParseRelative(text, now(), time.UTC); ok && err == nil {
		return t.UTC().Format("2006-01-02T15:04Z")
	}
	return text
}

func (a deviceCommands) showDevices(list []wire.DeviceBody, empty string, bars map[string]string) error {
	g := listing{
		header:   []string{"device", "status", "name", "type", "location", "firmware", "retention", "last seen", "created"},
		optional: []string{"created", "firmware", "retention", "location", "type"},
		empty:    empty, explain: true,
	}
	for _, d := range list {
		g.add(d.Device, d.Status, d.Name, d.Type, d.Location, d.Firmware, d.Retention, momentOrNever(d.LastSeenAt), moment(d.CreatedAt))
	}
	g.addActivity(bars)
	return a.show(&g, wire.DeviceList{Devices: list})
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func momentOrNever(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return moment(*t)
}

func (a deviceCommands) get() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get DEVICE", Short: "Print a device, its attributes and when it was last seen", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			d, err := c.Device(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showDevice(&d)
		},
	}
	return a.remote(cmd, "table", "json", "csv")
}

func (a deviceCommands) showDevice(d *wire.DeviceBody) error {
	g := listing{header: []string{"what", "value"}}
	for _, row := range [][2]string{
		{"device", d.Device}, {"status", d.Status}, {"name", d.Name}, {"type", d.Type}, {"location", d.Location}, {"firmware", d.Firmware},
		{"attributes", string(d.Attributes)}, {"labels", labelText(d.Labels)}, {"retention", d.Retention}, {"last seen", momentOrNever(d.LastSeenAt)},
		{"created", moment(d.CreatedAt)}, {"updated", moment(d.UpdatedAt)},
	} {
		if row[1] != "" {
			g.add(row[0], row[1])
		}
	}
	return a.show(&g, d)
}

// labelText returns labels as in "cpu=cpu0 site=north", sorted by key.
func labelText(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, " ")
}

func (a deviceCommands) set() *cobra.Command {
	var set wire.DevicePut
	var attributes string
	cmd := &cobra.Command{
		Use: "set DEVICE", Short: "Register a device, or change it", Args: takes(1, 1),
		Example: "  varve devices set sensor_01 --name 'Warehouse Temp A' --location 'Hall 3'\n" +
			"  varve devices set sensor_01 --status maintenance\n" +
			"  varve devices set sensor_02 --retention 30d",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			d, err := c.Device(cmd.Context(), args[0])
			if err != nil && varve.FailureOf(err) != varve.NotFound {
				return err
			}
			put := d.DevicePut
			for _, f := range []struct {
				name     string
				from, to *string
			}{
				{"name", &set.Name, &put.Name}, {"type", &set.Type, &put.Type}, {"status", &set.Status, &put.Status},
				{"location", &set.Location, &put.Location}, {"firmware", &set.Firmware, &put.Firmware}, {"retention", &set.Retention, &put.Retention},
			} {
				if cmd.Flags().Changed(f.name) {
					*f.to = *f.from
				}
			}
			if cmd.Flags().Changed("attributes") {
				if put.Attributes = json.RawMessage(attributes); attributes != "" && !json.Valid(put.Attributes) {
					return usageError{fmt.Errorf(`--attributes: %s is not JSON, as in {"floor":2}`, attributes)}
				}
			}
			if d, err = c.PutDevice(cmd.Context(), args[0], put); err != nil {
				return err
			}
			return a.showDevice(&d)
		},
	}
	f := cmd.Flags()
	f.StringVar(&set.Name, "name", "", "a `name` for people")
	f.StringVar(&set.Type, "type", "", "type of device, as in sensor or gateway")
	f.StringVar(&set.Status, "status", "", "active, inactive or maintenance")
	f.StringVar(&set.Location, "location", "", "where it is")
	f.StringVar(&set.Firmware, "firmware", "", "which firmware it has")
	f.StringVar(&attributes, "attributes", "", "anything else, as a JSON `object`")
	f.StringVar(&set.Retention, "retention", "", "how long its readings live, if shorter than their stream's, as in 30d; if empty, their stream's")
	a.words(cmd, "status", deviceStatuses...)
	return a.remote(cmd, "table", "json", "csv")
}

func (a deviceCommands) delete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete DEVICE", Short: "Forget a device; its readings, logs and alerts stay", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if err := c.DeleteDevice(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s is forgotten; its next reading registers it once more.\n", args[0])
			return err
		},
	}
	return a.remote(cmd)
}
