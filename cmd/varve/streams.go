package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
)

func streamsCommand(a *app) *cobra.Command {
	cmd := listStreams(a, "streams", "List the streams, and spread hot devices")
	cmd.AddCommand(listStreams(a, "list", "List the streams, as streams alone does"), spreadCommand(a))
	return cmd
}

func listStreams(a *app, use, short string) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return errNegativeLimit(limit)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.Streams(cmd.Context())
			if err != nil {
				return err
			}
			some, more := limited(list.Streams, limit)
			list.Streams = some
			g := listing{header: []string{"stream", "class", "row window"}, empty: "No streams yet: varve ingest FILES… creates them."}
			for _, s := range list.Streams {
				g.add(s.Name, s.Class, s.RowWindow)
			}
			return errors.Join(a.show(&g, list), a.sayCut(more))
		},
	}
	limitFlag(cmd, &limit, "streams")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func spreadCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "spread STREAM DEVICE SHARDS", Short: "Spread a hot device over several keys", Args: takes(3, 3),
		Long: "Spread the readings of a device in a stream over several keys. On DynamoDB, one key takes 1,000 write units a second. A query\n" +
			"reads all keys, so each key costs a further request. The number cannot be lowered, because readings are stored under all keys.",
		Example: "  varve streams spread weather sensor_01 4",
		RunE: func(cmd *cobra.Command, args []string) error {
			shards, err := strconv.Atoi(args[2])
			if err != nil {
				return usageError{fmt.Errorf("%q is not a number of shards", args[2])}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			s, err := c.Spread(cmd.Context(), args[0], args[1], shards)
			if e := (*varve.Error)(nil); errors.As(err, &e) && e.Param == "body.shards" {
				return usageError{fmt.Errorf("SHARDS: %s", e.Message)}
			}
			if err != nil {
				return err
			}
			a.sayNotes(s.Notes)
			_, err = fmt.Fprintf(a.out, "Readings of %s in %s are spread over %d keys.\n", args[1], s.Name, max(s.Shards[args[1]], 1))
			return err
		},
	}
	return a.remote(cmd)
}
