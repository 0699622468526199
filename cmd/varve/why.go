package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

func (a queryCommands) why() *cobra.Command {
	var q client.WhyQuery
	cmd := &cobra.Command{
		Use: "why DEVICE TIME [ID]", Short: "Explain where a reading is, or why it is not found",
		Long: "Explain where a reading is: its table, the rule by which it expires, and when and why its\n" +
			"table is retired and dropped.\n" +
			"Or explain why it is not found: it expired, it was rejected, or it never arrived.\n" +
			"It names stored rejects that may be the reading: varve rejects show ID prints one.",
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

// ofTime converts an error about the parameter "time" to an error about the argument TIME.
func ofTime(err error) error {
	var e *varve.Error
	if !errors.As(err, &e) || e.Param != "time" {
		return err
	}
	own := *e
	own.Param = "path.time"
	return &own
}

func (a queryCommands) showWhy(b *wire.WhyBody) {
	if !b.Known {
		a.printText(fmt.Sprintf("Device %s is not registered: no reading of it was accepted, or it was deleted.", b.Device))
	}
	if len(b.Streams) == 0 && len(b.Rejects) == 0 {
		a.printText("No stream exists yet.")
	}
	for _, s := range togetherWithoutHit(b.Streams) {
		a.printText(s.Stream + ": " + s.Text)
		for _, r := range s.Readings {
			state := "expired"
			if r.Alive {
				state = "is live"
			}
			id := printable(r.ID)
			if r.Version > 0 {
				id += fmt.Sprintf(" version %d", r.Version)
			}
			a.printText(fmt.Sprintf("  reading  %s  id %s, arrived %s, %s", r.Time, id, r.Arrived, state))
		}
		for k := range s.Tables {
			a.showWhyTable(&s.Tables[k], len(s.Readings) > 0)
		}
	}
	for i := range b.Rejects {
		r := &b.Rejects[i]
		which := "has this time"
		if !r.Exact {
			which = "has no time, and may be the reading"
		}
		a.printText(fmt.Sprintf("Reject %s of stream %s %s: %s, arrived %s: %s", r.ID, r.Stream, which, r.Code, exact(r.Last), printable(r.Message)))
	}
}

// manyStreams is the smallest number of searched streams for which the streams without the reading are
// printed without their tables.
const manyStreams = 4

// togetherWithoutHit returns the streams of an explanation, with names as printed. If many streams were
// searched, streams that lack the reading and have equal texts become one entry, without tables.
func togetherWithoutHit(streams []wire.WhyStream) []*wire.WhyStream {
	var shown []*wire.WhyStream
	for i := range streams {
		s := streams[i]
		at := slices.IndexFunc(shown, func(other *wire.WhyStream) bool { return other.Text == s.Text })
		if len(streams) < manyStreams || len(s.Readings) > 0 || at < 0 {
			if s.Stream = "Stream " + s.Stream; len(streams) >= manyStreams && len(s.Readings) == 0 {
				s.Tables = nil
			}
			shown = append(shown, &s)
			continue
		}
		shown[at].Stream = "Streams " + strings.TrimPrefix(strings.TrimPrefix(shown[at].Stream, "Streams "), "Stream ") + ", " + s.Stream
	}
	return shown
}

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
	fmt.Fprintf(a.out, "           retires %s, drops %s:\n", dateOrNever(t.Retires), dateOrNever(t.Drops))
	a.printText("           " + printable(t.Why))
}
