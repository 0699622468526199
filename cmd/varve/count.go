package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/client"
)

func (a queryCommands) count() *cobra.Command {
	var q client.CountQuery
	var limit int
	cmd := &cobra.Command{
		Use: "count STREAM [DEVICE…]", Short: "Print the numbers of devices and readings of a stream",
		Long: "Print the number of distinct readings of each device in a window, and of all of them.\n" +
			"Without a device, all registered devices are included.\n\n" +
			"With --source readings, live readings are counted, and all of them are read.\n" +
			"With --source rollups, expired readings count as well. This is fast, and takes windows of whole hours.",
		Example: "  varve count weather --during 2026-04\n" +
			"  varve count weather sensor_01 --from -7d --source rollups",
		Args: takes(1, aggregate.MaxDevices),
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Stream, q.Devices = args[0], args[1:]; limit < 0 {
				return errNegativeLimit(limit)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			counts, err := c.Counts(cmd.Context(), q)
			if err != nil {
				return err
			}
			a.sayNotes(counts.Notes)
			list, more := limited(counts.Counts, limit)
			counts.Counts = list
			g := listing{header: []string{"device", "readings"}, empty: "No readings match in this window.", explain: true}
			for _, one := range list {
				g.add(one.Device, a.number(one.Readings))
			}
			if err := a.show(&g, counts); err != nil {
				return err
			}
			if a.output == "table" && len(list) > 0 {
				fmt.Fprintf(a.out, "\n%s of %s, counted from %s.\n", count(int(counts.Readings), "reading"), count(counts.Devices, "device"), counts.Source)
			}
			if err := a.sayCut(more); err != nil {
				return err
			}
			return a.reportSkipped(counts.Coverage, len(list) == 0)
		},
	}
	f := cmd.Flags()
	whereFlag(cmd, &q.Where)
	windowFlags(cmd, &q.From, &q.To, &q.During)
	filterFlags(cmd, &q.Status, &q.DeviceType, &q.Attributes)
	f.StringVar(&q.Source, "source", "readings", "readings, or rollups, which also include expired readings")
	asOfFlag(cmd, &q.AsOf)
	limitFlag(cmd, &limit, "devices")
	a.words(cmd, "source", "readings", "rollups")
	return a.remote(cmd, "table", "json", "csv")
}

func windowFlags(cmd *cobra.Command, from, to, during *string) {
	f := cmd.Flags()
	f.StringVar(from, "from", "", "from this `time` on: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo (default: the beginning)")
	f.StringVar(to, "to", "", "before this `time` (default: the end)")
	f.StringVar(during, "during", "", "instead of both, a year, month, day, hour or minute in UTC, as in 2024-12, 2024-12-01 or 2024-12-01T14")
}

func whereFlag(cmd *cobra.Command, where *string) {
	cmd.Flags().StringVar(where, "where", "", "only readings that match these `conditions`, as in 'temperature>30 and level=error'")
}

func filterFlags(cmd *cobra.Command, status, deviceType *string, attributes *[]string) {
	cmd.Flags().StringVar(status, "status", "", "only devices of this `status`: active, inactive or maintenance")
	cmd.Flags().StringVar(deviceType, "device-type", "", "only devices of this `type`")
	attributeFlag(cmd, attributes)
}

func attributeFlag(cmd *cobra.Command, attributes *[]string) {
	cmd.Flags().StringArrayVar(attributes, "attribute", nil, "only devices with this registered attribute, as `name:value`; repeat it for more")
}

func errNegativeLimit(limit int) error {
	return usageError{fmt.Errorf("--limit %s is negative: use a number, or 0 for all", strconv.Itoa(limit))}
}

// limited returns the beginning of a list up to a limit, and reports whether more exist. 0 means no
// limit.
func limited[T any](list []T, limit int) (head []T, more bool) {
	if limit == 0 || len(list) <= limit {
		return list, false
	}
	return list[:limit], true
}
