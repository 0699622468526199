package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/timefmt"
)

// muteChange mutes or unmutes the alert or rule with an id. It returns the name of the
// changed object and the end of its mute.
type muteChange func(ctx context.Context, c *client.Client, id string, m wire.Mute) (name string, until *time.Time, err error)

func (a alertCommands) mute() *cobra.Command {
	cmd := muteCommand(a.app, "Mute an alert until a time", func(ctx context.Context, c *client.Client, id string, m wire.Mute) (string, *time.Time, error) {
		alert, err := c.MuteAlert(ctx, id, m)
		return alert.ID, alert.MutedUntil, err
	})
	cmd.Example = "  varve alerts mute 18ea39942b011c00-2bW0zRNJ1zC --for 2h"
	return cmd
}

func (a alertCommands) unmute() *cobra.Command {
	return unmuteCommand(a.app, "Unmute an alert", func(ctx context.Context, c *client.Client, id string, _ wire.Mute) (string, *time.Time, error) {
		alert, err := c.UnmuteAlert(ctx, id)
		return alert.ID, alert.MutedUntil, err
	})
}

func (a ruleCommands) mute() *cobra.Command {
	cmd := muteCommand(a.app, "Mute the alerts of a rule until a time", func(ctx context.Context, c *client.Client, id string, m wire.Mute) (string, *time.Time, error) {
		rule, err := c.MuteRule(ctx, id, m)
		return "Rule " + rule.ID, rule.MutedUntil, err
	})
	cmd.Example = "  varve rules mute hot --for 2h\n  varve rules mute hot --until 2026-12-01T08:00:00Z"
	return cmd
}

func (a ruleCommands) unmute() *cobra.Command {
	return unmuteCommand(a.app, "Unmute the alerts of a rule", func(ctx context.Context, c *client.Client, id string, _ wire.Mute) (string, *time.Time, error) {
		rule, err := c.UnmuteRule(ctx, id)
		return "Rule " + rule.ID, rule.MutedUntil, err
	})
}

// muteCommand returns a command that mutes, with the flags that set the end of the mute.
func muteCommand(a *app, short string, change muteChange) *cobra.Command {
	var until string
	var m wire.Mute
	cmd := &cobra.Command{
		Use: "mute ID", Short: short, Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := readMute(until, &m); err != nil {
				return err
			}
			return changeMute(cmd.Context(), a, args[0], m, change)
		},
	}
	cmd.Flags().StringVar(&m.For, "for", "", "for this `duration`, as in 2h")
	cmd.Flags().StringVar(&until, "until", "", "until this `time`, as in 2026-12-01T08:00:00Z")
	return a.remote(cmd)
}

func unmuteCommand(a *app, short string, change muteChange) *cobra.Command {
	cmd := &cobra.Command{
		Use: "unmute ID", Short: short, Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeMute(cmd.Context(), a, args[0], wire.Mute{}, change)
		},
	}
	return a.remote(cmd)
}

// changeMute calls the server and prints the new end of the mute.
func changeMute(ctx context.Context, a *app, id string, m wire.Mute, change muteChange) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	name, until, err := change(ctx, c, id, m)
	if err != nil {
		return err
	}
	if until == nil {
		_, err = fmt.Fprintf(a.out, "%s is not muted.\n", name)
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s is muted until %s.\n", name, moment(*until))
	return err
}

// readMute checks the flags for the end of a mute, and sets m.Until.
func readMute(until string, m *wire.Mute) error {
	if (until == "") == (m.For == "") {
		return usageError{errors.New("the end is missing or given twice: use --for or --until")}
	}
	if until == "" {
		return nil
	}
	t, err := timefmt.ParseTime(time.RFC3339, until, time.UTC)
	if err != nil {
		return usageError{fmt.Errorf("--until: %q is not a time: use one as in 2026-12-01T08:00:00Z", until)}
	}
	m.Until = &t
	return nil
}
