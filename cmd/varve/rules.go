package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/decimal"
)

type ruleCommands struct{ *app }

func rulesCommand(a *app) *cobra.Command {
	c := ruleCommands{a}
	return group("rules", "List and change the rules of alerts", c.list(),
		c.add(), c.deadman(), c.edit(), c.mute(), c.unmute(), c.delete())
}

func (a ruleCommands) list() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the alert rules", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return errNegativeLimit(limit)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.Rules(cmd.Context())
			if err != nil {
				return err
			}
			some, more := limited(list.Rules, limit)
			list.Rules = some
			g := listing{header: []string{"id", "severity", "stream", "device", "condition", "for", "gap", "muted until"}, optional: []string{"gap", "for", "stream"}, empty: "No rules: varve rules add creates one."}
			for i := range list.Rules {
				r, muted := &list.Rules[i], ""
				if r.MutedUntil != nil {
					muted = moment(*r.MutedUntil)
				}
				g.add(r.ID, r.Severity, r.Stream, r.Device, condition(r), r.For, r.Gap, muted)
			}
			return errors.Join(a.show(&g, list), a.sayCut(more))
		},
	}
	limitFlag(cmd, &limit, "rules")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func condition(r *wire.RuleBody) string {
	if r.Kind == "deadman" {
		return "no reading"
	}
	return fmt.Sprintf("%s %s %s", r.Field, r.Comparison, r.Threshold)
}

// addScope adds the flags that both kinds of rule have.
func (a ruleCommands) addScope(cmd *cobra.Command, r *wire.RulePost) {
	f := cmd.Flags()
	f.StringVar(&r.ID, "id", "", "the rule's id (default: computed from its content)")
	f.StringVar(&r.Stream, "stream", "", "only readings of this stream; it or --device must be given")
	f.StringVar(&r.Device, "device", "", "only readings of this device")
	f.StringVar(&r.Severity, "severity", "warning", "info, warning or critical")
	f.StringVar(&r.Late, "late", "", "delivery of late alerts: notify, digest or silent (default: digest)")
	a.words(cmd, "severity", severities...)
	a.words(cmd, "late", lateModes...)
}

func (a ruleCommands) add() *cobra.Command {
	var r wire.RulePost
	cmd := &cobra.Command{
		Use: "add FIELD COMPARISON THRESHOLD", Short: "Make a rule about the values of a field", Args: takes(3, 3),
		Example: "  varve rules add temperature '>' 30 --stream weather --for 5m --severity critical\n" +
			"  varve rules add --stream cold_chain -- temperature '<' -5\n" +
			"  varve rules add door == open --device gate_1",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			r.Field, r.Comparison = args[0], args[1]
			if r.Threshold, err = thresholdOf(args[2]); err != nil {
				return err
			}
			return a.post(cmd, &r)
		},
	}
	a.addScope(cmd, &r)
	cmd.Flags().StringVar(&r.For, "for", "", "how long the condition must hold, as in 5m (default: not at all)")
	cmd.Flags().StringVar(&r.Gap, "gap", "", "the longest time between two readings of an alert, as in 10m, or none (default: ten times the usual interval)")
	return a.remote(cmd, "table", "json")
}

// thresholdOf parses a threshold: a number, a boolean, or else a string.
func thresholdOf(text string) (json.RawMessage, error) {
	if text == "true" || text == "false" {
		return json.RawMessage(text), nil
	}
	if n, err := decimal.Parse(text); err == nil {
		return rawValue(varve.NumberValue(n)), nil
	}
	return json.Marshal(text)
}

func (a ruleCommands) deadman() *cobra.Command {
	var r wire.RulePost
	cmd := &cobra.Command{
		Use: "deadman DURATION", Short: "Make a rule about devices that send nothing for a time", Args: takes(1, 1),
		Long: "Make a rule that opens an alert when an active device sends nothing for DURATION. It has no effect on a device\n" +
			"that is not registered yet or, with --stream, was never seen in the stream.",
		Example: "  varve rules deadman 10m --severity critical\n  varve rules deadman 1h --device gate_1",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Kind, r.For = "deadman", args[0]
			return a.post(cmd, &r)
		},
	}
	a.addScope(cmd, &r)
	return a.remote(cmd, "table", "json")
}

// post creates a rule, and prints the server's answer.
func (a ruleCommands) post(cmd *cobra.Command, r *wire.RulePost) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	answer, err := c.AddRule(cmd.Context(), *r)
	if err != nil {
		return err
	}
	if a.output == "json" {
		return writeJSON(a.out, answer)
	}
	a.sayNotes(answer.Notes)
	said := "in force within ten seconds"
	if answer.Verdict == "duplicate" {
		said = "there already"
	}
	_, err = fmt.Fprintf(a.out, "Rule %s is %s.\n", answer.Rule.ID, said)
	return err
}

func (a ruleCommands) delete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete a rule, and resolve its alerts", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if err := c.DeleteRule(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "Rule %s is deleted.\n", args[0])
			return err
		},
	}
	return a.remote(cmd)
}
