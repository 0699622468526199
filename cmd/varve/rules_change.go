package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/wire"
)

func (a ruleCommands) edit() *cobra.Command {
	var to wire.RulePost
	var threshold string
	cmd := &cobra.Command{
		Use: "edit ID", Short: "Change a rule", Args: takes(1, 1),
		Long: "Change a rule. Another severity keeps its alerts as they are. Any other change makes it a new rule under its id:\n" +
			"its open alerts are resolved, and readings that arrive from then on are evaluated.",
		Example: "  varve rules edit hot --severity critical\n  varve rules edit hot --threshold 35 --for 10m",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			rule, err := c.Rule(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			put := rule.RulePost
			if rule.GapMeasured {
				put.Gap = ""
			}
			changed := applyRuleFlags(cmd, &to, &put)
			if cmd.Flags().Changed("threshold") {
				changed = true
				if put.Threshold, err = thresholdOf(threshold); err != nil {
					return err
				}
			}
			if !changed {
				return usageError{errors.New("nothing is to be changed: use a flag")}
			}
			if rule, err = c.EditRule(cmd.Context(), args[0], put); err != nil || a.output == "json" {
				return errors.Join(err, a.jsonIf(err == nil, rule))
			}
			_, err = fmt.Fprintf(a.out, "Rule %s is changed, in force within ten seconds.\n", rule.ID)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&to.Stream, "stream", "", "only readings of this stream")
	f.StringVar(&to.Device, "device", "", "only readings of this device")
	f.StringVar(&to.Field, "field", "", "the field that is compared")
	f.StringVar(&to.Comparison, "comparison", "", "how it is compared: >, >=, <, <=, == or !=")
	f.StringVar(&threshold, "threshold", "", "the value to compare with")
	f.StringVar(&to.For, "for", "", "how long the condition must hold, or how long the device is silent, as in 5m")
	f.StringVar(&to.Gap, "gap", "", "the longest time between two readings of an alert, as in 10m, or none; if empty, measured")
	f.StringVar(&to.Severity, "severity", "", "info, warning or critical")
	f.StringVar(&to.Late, "late", "", "delivery of late alerts: notify, digest or silent")
	a.words(cmd, "severity", severities...)
	a.words(cmd, "late", lateModes...)
	return a.remote(cmd, "table", "json")
}

// applyRuleFlags copies the text parameters whose flags are set, and reports whether any of these
// flags is set.
func applyRuleFlags(cmd *cobra.Command, from, to *wire.RulePost) (changed bool) {
	for _, f := range []struct {
		name     string
		from, to *string
	}{
		{"stream", &from.Stream, &to.Stream}, {"device", &from.Device, &to.Device}, {"field", &from.Field, &to.Field},
		{"comparison", &from.Comparison, &to.Comparison}, {"for", &from.For, &to.For}, {"gap", &from.Gap, &to.Gap},
		{"severity", &from.Severity, &to.Severity}, {"late", &from.Late, &to.Late},
	} {
		if cmd.Flags().Changed(f.name) {
			*f.to, changed = *f.from, true
		}
	}
	return changed
}
