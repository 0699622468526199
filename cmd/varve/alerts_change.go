package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

func (a alertCommands) get() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get ID", Short: "Print an alert", Args: takes(1, 1),
		Long: "Print an alert. If late readings gave the alert another start, its id leads to the alert that has its readings now.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			one, err := c.Alert(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showAlerts([]wire.AlertBody{one})
		},
	}
	return a.remote(cmd, "table", "json", "csv")
}

func (a alertCommands) resolve() *cobra.Command {
	var choice wire.AlertChoice
	cmd := &cobra.Command{
		Use: "resolve [ID…]", Short: "Resolve alerts by hand", Args: takes(0, -1),
		Example: "  varve alerts resolve 18ea39942b011c00-2bW0zRNJ1zC\n  varve alerts resolve --rule hot --device sensor_01\n  varve alerts resolve --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen := choice.Rule != "" || choice.Device != "" || choice.Severity != ""
			switch {
			case len(args) > 0 && (chosen || choice.All), choice.All && chosen:
				return usageError{errors.New("ids, --all and the other flags do not go together: use one of them")}
			case len(args) == 0 && !chosen && !choice.All:
				return usageError{errors.New("no alerts are chosen: use ids, --rule, --device, --severity or --all")}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return a.resolveOne(cmd, c, args[0])
			}
			return a.resolveMany(cmd, c, choice, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&choice.Rule, "rule", "", "the open alerts of this `rule`")
	f.StringVar(&choice.Device, "device", "", "the open alerts of this `device`")
	f.StringVar(&choice.Severity, "severity", "", "the open alerts of this `severity`: info, warning or critical")
	f.BoolVar(&choice.All, "all", false, "all open alerts")
	a.words(cmd, "severity", severities...)
	return a.remote(cmd, "table", "json")
}

func (a alertCommands) resolveOne(cmd *cobra.Command, c *client.Client, id string) error {
	one, err := c.ResolveAlert(cmd.Context(), id)
	if err != nil || a.output == "json" {
		return errors.Join(err, a.jsonIf(err == nil, one))
	}
	by := "by hand"
	if one.ResolvedBy != "hand" {
		by = "already: " + resolvedBecause(one.ResolvedBy)
	}
	_, err = fmt.Fprintf(a.out, "%s is resolved %s.\n", one.ID, by)
	return err
}

func resolvedBecause(by string) string {
	switch by {
	case "condition":
		return "its condition no longer holds"
	case "gap":
		return "its readings ended with a gap"
	case "rule_deleted":
		return "its rule was deleted"
	case "rule_changed":
		return "its rule was changed"
	case "withdrawn":
		return "late readings have shown that it did not hold for long enough"
	default:
		return by
	}
}

// mostIDs is the maximum number of alerts in one request.
const mostIDs = 1000

// resolveMany resolves the selected alerts, or the alerts with the ids, page by page.
func (a alertCommands) resolveMany(cmd *cobra.Command, c *client.Client, choice wire.AlertChoice, ids []string) error {
	all := wire.ResolvedAlerts{Resolved: []wire.AlertBody{}}
	for first := true; first || choice.Cursor != "" || len(ids) > 0; first = false {
		n := min(len(ids), mostIDs)
		choice.IDs, ids = ids[:n], ids[n:]
		if choice.Limit = mostIDs; n > 0 {
			choice.Limit = 0
		}
		page, err := c.ResolveAlerts(cmd.Context(), choice)
		if err != nil {
			return fmt.Errorf("%d alerts were resolved: %w", len(all.Resolved), err)
		}
		all.Resolved, all.Missing = append(all.Resolved, page.Resolved...), append(all.Missing, page.Missing...)
		choice.Cursor = page.Next
	}
	if a.output == "json" {
		return writeJSON(a.out, all)
	}
	if len(all.Missing) > 0 {
		return fmt.Errorf("%d alerts were resolved, and %d of the ids are of no alert, as %q", len(all.Resolved), len(all.Missing), all.Missing[0])
	}
	_, err := fmt.Fprintf(a.out, "%d alerts were open, and are resolved by hand.\n", len(all.Resolved))
	return err
}

func (a alertCommands) acknowledge() *cobra.Command {
	var ack wire.Acknowledgement
	cmd := &cobra.Command{
		Use: "ack ID", Short: "Acknowledge an alert: record the person who handles it", Args: takes(1, 1),
		Example: "  varve alerts ack 18ea39942b011c00-2bW0zRNJ1zC --by ann --note 'on my way'",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			one, err := c.AcknowledgeAlert(cmd.Context(), args[0], ack)
			if err != nil || a.output == "json" {
				return errors.Join(err, a.jsonIf(err == nil, one))
			}
			by := ""
			if one.Acknowledged != nil && one.Acknowledged.By != "" {
				by = " by " + one.Acknowledged.By
			}
			_, err = fmt.Fprintf(a.out, "%s is acknowledged%s.\n", one.ID, by)
			return err
		},
	}
	cmd.Flags().StringVar(&ack.By, "by", "", "name of the person (default: the id of the API key)")
	cmd.Flags().StringVar(&ack.Note, "note", "", "a `text` for others")
	return a.remote(cmd, "table", "json")
}
