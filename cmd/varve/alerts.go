package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// alertCommands are the commands on alerts.
type alertCommands struct{ *app }

func alertsCommand(a *app) *cobra.Command {
	c := alertCommands{a}
	return group("alerts", "See the alerts, resolve, acknowledge and mute them",
		c.list(), c.get(), c.resolve(), c.acknowledge(), c.mute(), c.unmute())
}

var severities = []string{"info", "warning", "critical"}

func (a alertCommands) list() *cobra.Command {
	var severity, state string
	var limit int
	cmd := &cobra.Command{
		Use: "list [DEVICE]", Short: "List the alerts of a device, or of all, the newest first", Args: takes(0, 1),
		Example: "  varve alerts list --severity critical --limit 20\n  varve alerts list --state open\n  varve alerts list sensor_01",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && severity != "" {
				return usageError{errors.New("--severity is for the alerts of all devices: leave it out, or leave out the device")}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, more, err := gather(limit, func(l client.List) ([]wire.AlertBody, string, error) {
				var page wire.AlertList
				if len(args) > 0 {
					page, err = c.AlertsOf(cmd.Context(), args[0], state, l)
				} else {
					page, err = c.Alerts(cmd.Context(), severity, state, l)
				}
				return page.Alerts, page.Next, err
			})
			if err != nil {
				return err
			}
			return errors.Join(a.showAlerts(list), a.sayCut(more))
		},
	}
	cmd.Flags().StringVar(&severity, "severity", "", "only alerts of this `severity`: info, warning or critical")
	cmd.Flags().StringVar(&state, "state", "", "only alerts of this `state`: open or resolved")
	limitFlag(cmd, &limit, "alerts")
	a.words(cmd, "severity", severities...)
	a.words(cmd, "state", "open", "resolved")
	return a.remote(cmd, "table", "json", "csv")
}

func (a alertCommands) showAlerts(list []wire.AlertBody) error {
	g := listing{
		header:   []string{"since", "severity", "device", "state", "message", "value", "opened", "resolved", "stream", "rule", "id"},
		optional: []string{"opened", "resolved", "rule", "value", "stream", "message"},
		empty:    "No alerts: varve rules add creates rules that raise alerts.", explain: true,
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
