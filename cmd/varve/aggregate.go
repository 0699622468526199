package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

type aggregateCommands struct{ queryCommands }

func (a aggregateCommands) aggregate() *cobra.Command {
	var q client.AggregateQuery
	var group string
	var plotted bool
	cmd := &cobra.Command{
		Use: "aggregate STREAM [DEVICE…]", Short: "Print mean, percentiles and other functions by any step",
		Long: "Print functions of the readings of devices in buckets, such as the mean of every five minutes.\n" +
			"Without a device, all registered devices are included.\n\n" +
			"Functions: " + aggregate.FunctionNames + ".\n" +
			"They are exact, from the readings in the window. Only numbers count, except for count.\n" +
			"A step is a duration, or 1d, 1w, 1mo, 1y. These begin at midnight in --timezone.",
		Example: "  varve aggregate weather sensor_01 --step 5m --functions mean,max --from -24h\n" +
			"  varve aggregate weather sensor_01 --step 1d --timezone Europe/Berlin --during 2026-04 -o csv\n" +
			"  varve aggregate weather sensor_01 --step 1h --fields temperature --from -7d --plot\n" +
			"  varve aggregate weather --step 1h --functions p99 --fields temperature --top 10 --top-by max --from -7d",
		Args: takes(1, aggregate.MaxDevices),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Stream, q.Merge = args[0], group == "none"
			if len(args) == 2 && q.Top == 0 && !q.Merge {
				q.Device = args[1]
			} else {
				q.Devices = args[1:]
			}
			if group != "none" && group != "device" {
				return usageError{fmt.Errorf("--group %q is unknown: use device or none", group)}
			}
			if q.Step == "" {
				return usageError{errors.New("--step: missing: use a duration as in 5m, or 1d, 1w, 1mo, 1y")}
			}
			if err := checkAggregate(&q); err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			if plotted {
				return pictures(a.queryCommands).ofBuckets(cmd, c, q)
			}
			return a.showAggregate(cmd, c, q)
		},
	}
	a.aggregateFlags(cmd, &q)
	cmd.Flags().StringVar(&group, "group", "device", "device, or none for buckets over all devices")
	a.words(cmd, "group", "device", "none")
	plotFlag(cmd, &plotted)
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func (a aggregateCommands) aggregateFlags(cmd *cobra.Command, q *client.AggregateQuery) {
	f := cmd.Flags()
	f.StringVar(&q.Step, "step", "", "`length` of the buckets, as in 5m, 1h, 1d, 1w, 1mo")
	f.StringSliceVar(&q.Functions, "functions", []string{"mean", "min", "max"}, "these `functions`, separated by commas")
	f.StringSliceVar(&q.Fields, "fields", nil, "only these `fields`, separated by commas")
	limitFlag(cmd, &q.Limit, "buckets")
	whereFlag(cmd, &q.Where)
	windowFlags(cmd, &q.From, &q.To, &q.During)
	f.Lookup("during").Usage = "instead of both, a year, month, day, hour or minute in --timezone, as in 2024-12"
	f.StringVar(&q.Timezone, "timezone", "", "time `zone` of the buckets, as in Europe/Berlin (default: UTC)")
	f.StringVar(&q.Fill, "fill", "none", "buckets without readings: none, null, previous or linear")
	f.StringVar(&q.Source, "source", "readings", "readings, or rollups, which also include expired readings")
	filterFlags(cmd, &q.Status, &q.DeviceType, &q.Attributes)
	f.IntVar(&q.Top, "top", 0, "number of devices to print, those with the highest --top-by; 0 means all")
	f.StringVar(&q.TopBy, "top-by", "", "the `function` that ranks devices")
	f.StringVar(&q.TopField, "top-field", "", "the `field` that ranks devices (default: the only one of --fields)")
	asOfFlag(cmd, &q.AsOf)
	a.archiveFlag(cmd, &q.Archive)
	scopeFlags(cmd, &q.Consistent, &q.SkipDamaged)
	a.words(cmd, "fill", "none", "null", "previous", "linear")
	a.words(cmd, "source", "readings", "rollups")
}

// checkAggregate rejects a negative limit, and an incomplete ranking of devices.
func checkAggregate(q *client.AggregateQuery) error {
	switch {
	case q.Limit < 0:
		return errNegativeLimit(q.Limit)
	case q.Top > 0 && q.TopBy == "":
		return usageError{errors.New("--top: requires --top-by: name a function, as in --top-by max")}
	case q.Top == 0 && q.TopBy != "":
		return usageError{errors.New("--top-by: requires --top: add --top 10, or omit --top-by")}
	case q.Top == 0 && q.TopField != "":
		return usageError{errors.New("--top-field: requires --top: add --top 10, or omit --top-field")}
	}
	return nil
}

const noBuckets = "No readings match in this window."

// showAggregate prints the answer as the server writes it, or as a table.
func (a aggregateCommands) showAggregate(cmd *cobra.Command, c *client.Client, q client.AggregateQuery) (err error) {
	if a.output == "table" {
		return a.aggregateTable(cmd, c, q)
	}
	form := map[string]wire.Format{"json": wire.JSON, "ndjson": wire.NDJSON, "csv": wire.CSV}[a.output]
	resp, err := c.RawAggregate(cmd.Context(), q, form)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	var seen beginning
	if _, err := io.Copy(io.MultiWriter(a.out, &seen), resp.Body); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	notes, err := notesOf(resp, &seen)
	if err != nil {
		return err
	}
	a.sayNotes(notes)
	if seen.rows == 0 || a.output != "ndjson" && seen.rows == 1 {
		fmt.Fprintln(a.err, noBuckets)
	}
	return a.reportSkipped(coverageOf(resp, &seen), seen.rows <= 1)
}

// reportSkipped prints the damaged rows, the missing tables, the time of --as-of and the expired readings
// of a coverage, which may be empty.
func (a queryCommands) reportSkipped(coverage []byte, isEmpty bool) error {
	var cover query.Coverage
	if len(coverage) > 0 {
		if err := json.Unmarshal(coverage, &cover); err != nil {
			return fmt.Errorf("coverage: %w", err)
		}
	}
	a.saySkipped(&cover)
	a.sayAsOf(&cover)
	if line := expiryText(cover.Expiry, isEmpty); line != "" {
		fmt.Fprintln(a.err, line)
	}
	return nil
}

func (a aggregateCommands) aggregateTable(cmd *cobra.Command, c *client.Client, q client.AggregateQuery) error {
	answer, err := c.Aggregate(cmd.Context(), q)
	if err != nil {
		return err
	}
	g := &listing{header: slices.Concat([]string{"start", "readings", "field"}, q.Functions), empty: noBuckets}
	withDevices := q.Device == "" && !q.Merge
	if withDevices {
		g.header = slices.Insert(g.header, 0, "device")
	}
	ignored := int64(0)
	for i := range answer.Buckets {
		b := &answer.Buckets[i]
		head := []string{b.Start, strconv.FormatInt(b.Readings, 10)}
		if withDevices {
			head = slices.Insert(head, 0, b.Device)
		}
		for _, name := range slices.Sorted(maps.Keys(b.Fields)) {
			cells := append(slices.Clip(head), name)
			for _, f := range q.Functions {
				cells = append(cells, strings.TrimPrefix(string(b.Fields[name][f]), "null"))
			}
			g.add(cells...)
			ignored += b.Fields[name].Ignored()
		}
		if len(b.Fields) == 0 {
			g.add(append(slices.Clip(head), make([]string, len(q.Functions)+1)...)...)
		}
	}
	a.sayNotes(answer.Notes)
	if err := a.show(g, nil); err != nil {
		return err
	}
	if ignored > 0 {
		fmt.Fprintf(a.out, "\nIgnored, because they are not numbers: %s\n", count(int(ignored), "value"))
	}
	return a.reportSkipped(answer.Coverage, len(g.rows) == 0)
}
