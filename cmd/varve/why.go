package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// why returns the command that explains one reading.
func (a queryCommands) why() *cobra.Command {
	var q client.WhyQuery
	cmd := &cobra.Command{
		Use: "why DEVICE TIME [ID]", Short: "Explain where a reading is, or why it is not found",
		Long: "Explain where a reading is: its table, the rule by which it expires, and when and why its table is retired and dropped.\n" +
			"Or explain why it is not found: it expired, it would be rejected, or it never came.\n" +
			"Rejected readings are not recorded: their verdict was the answer to their request.",
		Example: "  varve why sensor_01 2026-11-21T12:00:00Z\n  varve why sensor_01 2026-11-21T12:00:00.5Z m1 --stream weather -o json",
		Args:    takes(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Device, q.Time = args[0], args[1]
			if len(args) > 2 {
				q.ID = args[2]
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			body, err := c.Why(cmd.Context(), q)
			if err != nil {
				return ofTime(err)
			}
			if a.output == "json" {
				return writeJSON(a.out, body)
			}
			a.showWhy(&body)
			return nil
		},
	}
	cmd.Flags().StringVar(&q.Stream, "stream", "", "only this `stream`")
	return a.remote(cmd, "text", "json")
}

// ofTime converts an error about the parameter time to one about the argument.
func ofTime(err error) error {
	var e *varve.Error
	if !errors.As(err, &e) || e.Param != "time" {
		return err
	}
	own := *e
	own.Param = "path.time"
	return &own
}

// showWhy prints the explanation of a reading.
func (a queryCommands) showWhy(b *wire.WhyBody) {
	if !b.Known {
		fmt.Fprintf(a.out, "Device %s is not registered: no reading of it was accepted, or it was deleted.\n", b.Device)
	}
	if len(b.Streams) == 0 {
		fmt.Fprintln(a.out, "No stream exists yet.")
	}
	for i := range b.Streams {
		s := &b.Streams[i]
		fmt.Fprintf(a.out, "Stream %s: %s\n", s.Stream, s.Text)
		for _, r := range s.Readings {
			state := "has expired"
			if r.Alive {
				state = "is alive"
			}
			fmt.Fprintf(a.out, "  reading  %s  id %s, arrived %s, %s\n", r.Time, printable(r.ID), r.Arrived, state)
		}
		for k := range s.Tables {
			a.showWhyTable(&s.Tables[k], len(s.Readings) > 0)
		}
	}
}

// showWhyTable prints one table of an explanation.
func (a queryCommands) showWhyTable(t *wire.WhyTable, holds bool) {
	state := t.State
	switch {
	case !t.Exists:
		state = "does not exist"
	case !holds:
		state += ", would hold it"
	}
	fmt.Fprintf(a.out, "  table    %s  %s\n", t.Name, state)
	fmt.Fprintf(a.out, "           events of %s to %s that arrived in %s\n", date(t.From), date(t.To), t.WriteMonth)
	fmt.Fprintf(a.out, "           retires %s, drops %s:\n           %s\n", dateOrNever(t.Retires), dateOrNever(t.Drops), printable(t.Why))
}
