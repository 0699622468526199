package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

type alertCommands struct{ *app }

func alertsCommand(a *app) *cobra.Command {
	c := alertCommands{a}
	return group("alerts", "List, resolve, acknowledge and mute alerts",
		c.list(), c.get(), c.resolve(), c.acknowledge(), c.mute(), c.unmute(), c.deliveries(), c.notifyTest())
}

var severities = []string{"info", "warning", "critical"}

func (a alertCommands) list() *cobra.Command {
	var q client.AlertQuery
	var limit int
	cmd := &cobra.Command{
		Use: "list [DEVICE]", Short: "List the alerts of a device, or of all, the newest first", Args: takes(0, 1),
		Example: "  varve alerts list --severity critical --limit 20\n  varve alerts list --state open --stream weather\n  varve alerts list --during 2026-04\n  varve alerts list sensor_01",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && q.Severity != "" {
				return usageError{errors.New("--severity is for the alerts of all devices: leave it out, or leave out the device")}
			}
			if len(args) > 0 {
				q.Device = args[0]
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, more, err := gather(limit, func(l client.List) ([]wire.AlertBody, string, error) {
				page, err := c.SelectAlerts(cmd.Context(), q, l)
				return page.Alerts, page.Next, err
			})
			if err != nil {
				return err
			}
			return errors.Join(a.showAlerts(list), a.sayCut(more))
		},
	}
	cmd.Flags().StringVar(&q.Severity, "severity", "", "only alerts of this `severity`: info, warning or critical")
	cmd.Flags().StringVar(&q.State, "state", "", "only alerts of this `state`: open or resolved")
	cmd.Flags().StringVar(&q.Stream, "stream", "", "only alerts of this `stream`")
	cmd.Flags().StringVar(&q.Rule, "rule", "", "only alerts of this `rule`")
	windowFlags(cmd, &q.From, &q.To, &q.During)
	limitFlag(cmd, &limit, "alerts")
	a.words(cmd, "severity", severities...)
	a.words(cmd, "state", "open", "resolved")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func (a alertCommands) showAlerts(list []wire.AlertBody) error {
	g := listing{
		header:   []string{"since", "severity", "device", "state", "message", "value", "opened", "resolved", "stream", "rule", "id"},
		optional: []string{"opened", "resolved", "rule", "value", "stream"}, below: "message",
		empty: "No alerts: varve rules add creates rules that raise alerts.", explain: true,
	}
	for _, one := range list {
		state := one.State
		switch one.ResolvedBy {
		case "", "condition":
		case "hand":
			state += " by hand"
		default:
			state += ", " + strings.ReplaceAll(one.ResolvedBy, "_", " ")
		}
		if one.Acknowledged != nil {
			state += ", acknowledged"
		}
		if one.MutedUntil != nil {
			state += ", muted until " + moment(*one.MutedUntil)
		}
		if one.Late {
			state += ", late"
		}
		resolved := ""
		if one.ResolvedAt != nil {
			resolved = exact(*one.ResolvedAt)
		}
		g.add(exact(one.Since), one.Severity, one.Device, state, one.Message, string(one.Value), exact(one.OpenedAt), resolved, one.Stream, one.Rule, one.ID)
	}
	return a.show(&g, wire.AlertList{Alerts: list})
}
