package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/timefmt"
)

// calendar returns the command that forecasts the tables under the policy in use.
func (a tableCommands) calendar() *cobra.Command {
	years := 5
	cmd := &cobra.Command{
		Use: "calendar", Short: "Print what will be created, retired and dropped, month by month", Args: cobra.NoArgs,
		Long: "Print what the rotator will create, retire and drop, month by month, if readings continue to arrive as at present: tables, bytes,\n" +
			"requests and cost, and the month in which the quota of the account will be met. varve tables plan --simulate does so under another configuration.",
		Example: "  varve tables calendar --years 2\n  varve tables plan --simulate --config new.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.simulate(cmd, years, nil)
		},
	}
	yearsFlag(cmd, &years)
	return a.remote(cmd, "table", "json", "csv")
}

func yearsFlag(cmd *cobra.Command, years *int) {
	cmd.Flags().IntVar(years, "years", *years, "`years` to forecast, from 1 to 30")
}

// simulate prints a forecast. If the policy is nil, it is the one in use.
func (a tableCommands) simulate(cmd *cobra.Command, years int, p *wire.PolicyBody) error {
	if years < 1 || years > 30 {
		return usageError{fmt.Errorf("--years %d: out of range: use a number from 1 to 30", years)}
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	body, err := c.Calendar(cmd.Context(), years, p)
	if err != nil {
		return err
	}
	return a.showCalendar(&body)
}

// policyOf returns the policy of a configuration file, for a simulation. Without a file, it returns
// nil. Environment variables of this machine do not apply, because the server has others. The
// prefix and the quota are the server's unless the file sets them.
func policyOf(a *app, file string) (*wire.PolicyBody, error) {
	if file == "" {
		return nil, nil
	}
	loaded, err := config.Load(config.Source{File: file, Required: true})
	if err != nil {
		fmt.Fprintln(a.err, err)
		return nil, usageError{fmt.Errorf("--config %s: has mistakes: see varve config check --config %s", file, file)}
	}
	c := &loaded.Config
	p := wire.PolicyBody{
		Future: timefmt.FormatDuration(c.Tables.Future), RecentWeeks: c.Tables.RecentWeeks,
		Doubling: timefmt.FormatDuration(c.Tables.Doubling), MonthsAhead: c.Tables.MonthsAhead,
		Drop: c.Retention.Drop, Grace: timefmt.FormatDuration(c.Retention.Grace), Seal: timefmt.FormatDuration(c.Retention.Seal),
		MaxDrops: c.Retention.MaxDrops, Rollups: c.Rollups.Enabled, Classes: map[string]string{},
	}
	if _, ok := loaded.Origins["tables.prefix"]; ok {
		p.Prefix = c.Tables.Prefix
	}
	if _, ok := loaded.Origins["store.table_quota"]; ok {
		p.TableQuota = c.Store.TableQuota
	}
	for name, class := range c.Classes {
		p.Classes[name] = timefmt.FormatDuration(class.Retention)
	}
	return &p, nil
}

// showCalendar prints a forecast, with a mark at the month in which the quota is met.
func (a tableCommands) showCalendar(b *wire.CalendarBody) error {
	g := listing{header: []string{"month", "created", "retired", "dropped", "tables", "readings", "bytes"}}
	billed := len(b.Months) > 0 && b.Months[0].Dollars != nil
	if billed {
		g.header = append(g.header, "requests", "dollars")
	}
	met := ""
	if b.QuotaMet != nil {
		met = *b.QuotaMet
		g.header = append(g.header, "quota")
	}
	for i := range b.Months {
		m := &b.Months[i]
		row := []string{m.Month, fmt.Sprint(m.Created), fmt.Sprint(m.Retired), fmt.Sprint(m.Dropped), a.number(int64(m.Tables)), a.number(m.Readings), a.bytes(m.Bytes)}
		if billed {
			row = append(row, a.number(*m.Requests), fmt.Sprintf("%.2f", *m.Dollars))
		}
		switch {
		case met == "":
		case m.Month == met:
			row = append(row, "met here")
		default:
			row = append(row, "")
		}
		g.add(row...)
	}
	if err := a.show(&g, b); err != nil || a.output != "table" {
		return err
	}
	a.showLoad(b)
	return nil
}

// showLoad prints the assumptions and the warnings of a forecast.
func (a tableCommands) showLoad(b *wire.CalendarBody) {
	fmt.Fprintf(a.out, "\nAt most %s tables at a time.\n", thousands(int64(b.Most)))
	if len(b.Load) == 0 {
		fmt.Fprintln(a.out, "No readings arrive at present, so the forecast is of tables only.")
	}
	for _, l := range b.Load {
		fmt.Fprintf(a.out, "Class %s is assumed to receive %s readings (%s) a day.\n", l.Class, thousands(int64(l.Readings)), bytesText(int64(l.Bytes)))
	}
	for _, n := range b.Notes {
		fmt.Fprintf(a.out, "Assumed: %s.\n", n)
	}
	for _, w := range b.Warnings {
		fmt.Fprintln(a.out, "Warning:", w)
	}
}
