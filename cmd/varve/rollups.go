package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/rollup"
)

func (a queryCommands) rollups() *cobra.Command {
	var q client.RollupQuery
	var limit int
	cmd := &cobra.Command{
		Use: "rollups STREAM DEVICE", Short: "Print aggregates of a device's numbers, by the hour or the day",
		Long: "Print count, sum, min, max, mean, first and last of a device's numbers, by the hour or the day, in UTC.\n" +
			"They are exact at any moment, and include readings that have expired since.",
		Example: "  varve rollups weather sensor_01 --period hourly --from -24h\n" +
			"  varve rollups weather sensor_01 --period daily --from 2026-01-01 --fields temperature -o csv",
		Args: takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Stream, q.Device = args[0], args[1]
			if _, err := rollup.ParsePeriod(q.Period); err != nil {
				return usageError{fmt.Errorf("--%w", err)}
			}
			if limit < 0 {
				return errNegativeLimit(limit)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			return a.showRollups(cmd, c, q, limit)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Period, "period", "hourly", "hourly or daily")
	windowFlags(cmd, &q.From, &q.To, &q.During)
	f.StringSliceVar(&q.Fields, "fields", nil, "only these `fields`, separated by commas")
	asOfFlag(cmd, &q.AsOf)
	limitFlag(cmd, &limit, "periods")
	a.words(cmd, "period", "hourly", "daily")
	cmd.AddCommand(a.rebuild())
	return a.remote(cmd, "table", "json", "csv")
}

// showRollups prints roll-ups, or the reason why no roll-ups exist.
func (a queryCommands) showRollups(cmd *cobra.Command, c *client.Client, q client.RollupQuery, limit int) error {
	list, more := []wire.RollupBody{}, false
	missing := slices.Clone(q.Fields)
	for r, err := range c.Rollups(cmd.Context(), q) {
		if err != nil {
			return err
		}
		if more = limit > 0 && len(list) == limit; more {
			break
		}
		list = append(list, r)
		missing = slices.DeleteFunc(missing, func(name string) bool { _, found := r.Fields[name]; return found })
	}
	g := &listing{header: []string{"start", "readings", "field", "count", "sum", "min", "max", "mean", "first", "last"}, optional: []string{"last", "first", "sum"}, explain: true}
	if len(list) == 0 {
		var err error
		if g.empty, err = a.noRollups(cmd, c, q); err != nil {
			return err
		}
	}
	for _, r := range list {
		readings := strconv.FormatInt(r.Readings, 10)
		if len(r.Fields) == 0 {
			g.add(r.Start, readings, "", "", "", "", "", "", "", "")
		}
		for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
			f := r.Fields[name]
			g.add(r.Start, readings, name, strconv.FormatInt(f.Count, 10), string(f.Sum), string(f.Min), string(f.Max),
				string(f.Mean), string(f.First.Value), string(f.Last.Value))
		}
	}
	a.sayAsOfGiven(q.AsOf)
	if err := a.show(g, map[string]any{"rollups": list}); err != nil {
		return err
	}
	if len(list) > 0 {
		a.sayMissing(missing)
	}
	return a.sayCut(more)
}

func (a queryCommands) noRollups(cmd *cobra.Command, c *client.Client, q client.RollupQuery) (string, error) {
	window := client.Query{Stream: q.Stream, Device: q.Device, From: q.From, To: q.To, During: q.During, AsOf: q.AsOf, Limit: 1}
	for _, err := range c.Readings(cmd.Context(), window, nil) {
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Device %s has readings in stream %s in this window, and no roll-ups. Readings that were\n"+
			"written while roll-ups were off are added by varve rollups rebuild %s %s.", q.Device, q.Stream, q.Stream, q.Device), nil
	}
	return noReadings(&window, nil), nil
}

func (a queryCommands) rebuild() *cobra.Command {
	var q client.RollupQuery
	cmd := &cobra.Command{
		Use: "rebuild STREAM DEVICE", Short: "Recount readings that were written while roll-ups were off",
		Long: "Recount hours that have more stored readings than their roll-up counted.\n" +
			"An hour stays unchanged if readings are gone that are needed to recount it.",
		Args: takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			q.Stream, q.Device = args[0], args[1]
			done, err := c.RebuildRollupsOf(cmd.Context(), q)
			if err != nil {
				return err
			}
			text := count(done.Hours, "hour") + " to count.\n"
			switch {
			case done.Left == 1:
				text += "1 hour is unchanged: readings that are needed to recount it are gone.\n"
			case done.Left > 1:
				text += count(done.Left, "hour") + " are unchanged: readings that are needed to recount them are gone.\n"
			}
			_, err = fmt.Fprint(a.out, text)
			return err
		},
	}
	windowFlags(cmd, &q.From, &q.To, &q.During)
	return a.remote(cmd)
}

// rollupsCounted returns the log event of a run of the aggregator.
func rollupsCounted(err error) string {
	if err != nil {
		return "roll-ups not all counted, retrying"
	}
	return "roll-ups counted"
}
