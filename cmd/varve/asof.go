package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/query"
)

func asOfFlag(cmd *cobra.Command, asOf *string) {
	cmd.Flags().StringVar(asOf, "as-of", "", "only readings that had arrived by this `time`: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo (default: all)")
}

// sayAsOf prints the event time from which an answer as of an earlier time is complete.
func (a *app) sayAsOf(c *query.Coverage) {
	if c.AsOf == nil {
		return
	}
	fmt.Fprintf(a.err, "As of %s. Complete for event times from %s on; earlier readings are outside of the window, or may have expired since.\n",
		c.AsOf.Time.Format(time.RFC3339Nano), c.AsOf.CompleteFrom.Format(time.RFC3339Nano))
}

// sayAsOfGiven prints the value of --as-of, for an answer without coverage.
func (a *app) sayAsOfGiven(asOf string) {
	if asOf != "" {
		fmt.Fprintf(a.err, "As of %s: readings that arrived later are excluded.\n", asOf)
	}
}

func scopeFlags(cmd *cobra.Command, consistent, skipDamaged *bool) {
	f := cmd.Flags()
	f.BoolVar(consistent, "consistent", false, "include every reading that was acknowledged before the request")
	f.BoolVar(skipDamaged, "skip-damaged", false, "omit and report damaged rows instead of failing")
}
