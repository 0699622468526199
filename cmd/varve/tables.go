package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/wire"
)

// tableCommands are the commands on tables.
type tableCommands struct{ *app }

func tablesCommand(a *app) *cobra.Command {
	c := tableCommands{a}
	return group("tables", "List and manage the tables",
		c.list(),
		c.plan("plan", "Print what the rotator would do now, with reasons", false),
		c.calendar(),
		c.plan("apply", "Run the rotator now, and print what it did", true),
		c.change("restore NAME", "Take back that a table was retired, and put it on hold",
			"restored, and on hold so that the rotator leaves it alone: lift that with varve tables release", 1),
		c.change("hold NAME REASON", "Prevent a table from being retired and dropped", "on hold", 2),
		c.change("release NAME", "Lift a table's hold", "no longer on hold", 1))
}

func (a tableCommands) list() *cobra.Command {
	var empty bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the tables: what they hold, and when each will be dropped and why", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return errNegativeLimit(limit)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.Tables(cmd.Context())
			if err != nil {
				return err
			}
			some, more := limited(list.Tables, limit)
			list.Tables = some
			return errors.Join(a.showTables(&list, empty), a.sayCut(more))
		},
	}
	limitFlag(cmd, &limit, "tables")
	cmd.Flags().BoolVarP(&empty, "all", "a", false, "list empty tables, too (always so in json and csv)")
	return a.remote(cmd, "table", "json", "csv")
}

func (a tableCommands) showTables(list *wire.TableList, empty bool) error {
	g := listing{
		header:   []string{"from", "to", "written", "class", "state", "readings", "bytes", "retires", "drops", "name", "why"},
		optional: []string{"why", "name", "class", "retires"},
		empty:    fmt.Sprintf("%d tables, all empty: varve tables list --all lists them.", len(list.Tables)),
	}
	hidden, readings, bytes := 0, int64(0), int64(0)
	for _, t := range list.Tables {
		readings, bytes = readings+t.Readings, bytes+t.Bytes
		if t.Readings == 0 && !empty && t.Hold == "" && a.output != "csv" {
			hidden++
			continue
		}
		g.add(date(t.From), date(t.To), t.WriteMonth, t.Class, t.State, a.number(t.Readings), a.bytes(t.Bytes), dateOrNever(t.Retires), dateOrNever(t.Drops), t.Name, t.Why)
	}
	if err := a.show(&g, list); err != nil || a.output != "table" || len(g.rows) == 0 {
		return err
	}
	line := fmt.Sprintf("\n%d tables, %s readings, %s", len(list.Tables), thousands(readings), bytesText(bytes))
	if hidden > 0 {
		line += fmt.Sprintf("; %d of them are empty and not shown (--all shows them)", hidden)
	}
	if list.Bound != nil {
		line += fmt.Sprintf("\nThe policy allows at most %d.", *list.Bound)
	}
	_, err := fmt.Fprintln(a.out, line)
	return err
}

// plan returns the command plan or apply: both show a plan.
func (a tableCommands) plan(use, short string, apply bool) *cobra.Command {
	var at, digest, file string
	var all, simulate bool
	years := 5
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if simulate || file != "" {
				p, err := policyOf(a.app, file)
				if err != nil {
					return err
				}
				return a.simulate(cmd, years, p)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			var plan wire.PlanBody
			if apply {
				plan, err = c.ApplyPlan(cmd.Context(), digest)
			} else {
				plan, err = c.Plan(cmd.Context(), at)
			}
			if err != nil {
				return err
			}
			return a.showPlan(&plan, planView{applied: apply, all: all, now: at == ""})
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "a line for each table, also for empty ones (always so in json and csv)")
	if apply {
		cmd.Flags().StringVar(&digest, "plan", "", "only if the plan still has this `digest`, which varve tables plan prints")
	} else {
		cmd.Flags().BoolVar(&simulate, "simulate", false, "forecast the tables month by month, as varve tables calendar does")
		cmd.Flags().StringVarP(&file, "config", "c", "", "simulate the policy of this configuration `file` instead")
		yearsFlag(cmd, &years)
		cmd.Flags().StringVar(&at, "at", "", "plan for this `time`, with the tables as they are now: RFC 3339, a date, or relative as in +30d")
		cmd.MarkFlagsMutuallyExclusive("at", "simulate")
		cmd.MarkFlagsMutuallyExclusive("at", "config")
	}
	return a.remote(cmd, "table", "json", "csv")
}

// planView selects the output of a plan.
type planView struct {
	applied bool // the plan was applied
	all     bool // a line for each table
	now     bool // the plan is for now, so it can be applied
}

func (a tableCommands) showPlan(p *wire.PlanBody, v planView) error {
	g := listing{header: []string{"action", "table", "readings", "bytes", "reason"}, optional: []string{"bytes", "readings"}, empty: "Nothing to do."}
	lines := planLines(p)
	if a.output == "table" && !v.all {
		lines = together(lines)
	}
	for _, l := range lines {
		g.add(l.action, l.table(), a.number(l.readings), a.bytes(l.bytes), l.reason)
	}
	if err := a.show(&g, p); err != nil || a.output != "table" {
		return err
	}
	did := ""
	switch {
	case len(p.Actions) == 0:
	case v.applied:
		did = "\nDone."
	case v.now:
		did = "\nNothing was changed: varve tables apply --plan " + p.Digest + " carries this out, and refuses any other plan."
	default:
		did = "\nNothing was changed: varve tables apply carries this out."
	}
	ready := p.Ready
	if v.applied {
		ready = p.Needed
	}
	_, err := fmt.Fprintf(a.out, "%s\n%d of the %d tables of the next month exist.\n", did, ready, p.Needed)
	for _, w := range p.Warnings {
		fmt.Fprintln(a.out, "Warning:", w)
	}
	return err
}

// change returns the command restore, hold or release.
func (a tableCommands) change(use, short, done string, args int) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: takes(args, args),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Name() == "hold" && strings.TrimSpace(args[1]) == "" {
				return usageError{errors.New("REASON: empty: state why the table must be kept, as in 'case 17'")}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			var t wire.TableInfo
			switch cmd.Name() {
			case "restore":
				t, err = c.Restore(cmd.Context(), args[0])
			case "hold":
				t, err = c.Hold(cmd.Context(), args[0], args[1])
			default:
				t, err = c.Release(cmd.Context(), args[0])
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s is %s.\n", t.Name, done)
			return err
		},
	}
	return a.remote(cmd)
}
