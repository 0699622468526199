package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

type tableCommands struct{ *app }

func tablesCommand(a *app) *cobra.Command {
	c := tableCommands{a}
	return group("tables", "List and manage the tables",
		c.list(),
		c.plan("plan", "Print what the rotator would do now, with reasons", false),
		c.calendar(),
		c.plan("apply", "Run the rotator now, and print what it did", true),
		c.change("restore NAME", "Undo the retirement of a table, and put it on hold",
			"restored, and on hold so that the rotator leaves it alone: release it with varve tables release", 1),
		c.change("hold NAME REASON", "Put a table on hold, so that it is not retired and dropped", "on hold", 2),
		c.change("release NAME", "Release a hold", "no longer on hold", 1))
}

func (a tableCommands) list() *cobra.Command {
	var empty, grid bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the tables, and when and why each is dropped", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return errNegativeLimit(limit)
			}
			if grid {
				if err := pictures(a).needsTerminal("grid", "-o csv"); err != nil {
					return err
				}
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
			if grid {
				return errors.Join(pictures(a).ofTables(&list, empty), a.sayCut(more))
			}
			return errors.Join(a.showTables(&list, empty), a.sayCut(more))
		},
	}
	limitFlag(cmd, &limit, "tables")
	cmd.Flags().BoolVar(&grid, "grid", false, "draw the grid on the terminal: event time across, arrival months down")
	cmd.Flags().BoolVarP(&empty, "all", "a", false, "list empty tables, too (always so in json and csv)")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func (a tableCommands) showTables(list *wire.TableList, empty bool) error {
	g := listing{
		header:   []string{"from", "to", "written", "class", "state", "readings", "bytes", "retires", "drops", "name", "why"},
		optional: []string{"why", "name", "class", "retires"},
		empty:    count(len(list.Tables), "table") + ", all empty: varve tables list --all lists them.",
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
	line := count(len(list.Tables), "table") + ", " + count(int(readings), "reading") + ", " + bytesText(bytes)
	switch {
	case hidden == 1:
		line += "; 1 of them is empty and not shown (--all shows it)"
	case hidden > 1:
		line += fmt.Sprintf("; %d of them are empty and not shown (--all shows them)", hidden)
	}
	fmt.Fprintln(a.out)
	a.printText(line)
	if list.Bound != nil {
		a.printText(fmt.Sprintf("The policy allows at most %d.", *list.Bound))
	}
	return nil
}

// plan returns the command "plan" or "apply". Both print a plan.
func (a tableCommands) plan(use, short string, apply bool) *cobra.Command {
	var at, digest, file string
	var all, simulate bool
	forecast := client.CalendarQuery{Years: 5}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("years") && !simulate && file == "" {
				return usageError{errors.New("--years: requires --simulate: add it, or omit --years")}
			}
			if simulate || file != "" {
				p, err := policyOf(a.app, file)
				if err != nil {
					return err
				}
				return a.simulate(cmd, forecast, p)
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
		calendarFlags(cmd, &forecast)
		cmd.Flags().StringVar(&at, "at", "", "plan for this `time`, with the tables as they are now: RFC 3339, a date, or relative as in +30d")
		cmd.MarkFlagsMutuallyExclusive("at", "simulate")
		cmd.MarkFlagsMutuallyExclusive("at", "config")
	}
	return a.remote(cmd, "table", "json", "csv")
}

// planView selects the output of a plan.
type planView struct {
	applied bool // whether the plan was applied
	all     bool // whether the output has a line for each table
	now     bool // whether the plan is for the current time, so that it can be applied
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
		did = "Done."
	case v.now:
		did = "Nothing was changed: varve tables apply --plan " + p.Digest + " carries this out, and refuses any other plan."
	default:
		did = "Nothing was changed: varve tables apply carries this out."
	}
	ready := p.Ready
	if v.applied {
		ready = p.Needed
	}
	fmt.Fprintln(a.out)
	if did != "" {
		a.printText(did)
	}
	a.printText(fmt.Sprintf("%d of the %d tables of the next month exist.", ready, p.Needed))
	for _, w := range p.Warnings {
		a.printText("Warning: " + w)
	}
	return nil
}

// change returns one of the commands "restore", "hold" and "release".
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
