package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/timefmt"
)

// calendar returns the command that forecasts the tables under the policy in use.
func (a tableCommands) calendar() *cobra.Command {
	q := client.CalendarQuery{Years: 5}
	cmd := &cobra.Command{
		Use: "calendar", Short: "Forecast the tables, month by month", Args: cobra.NoArgs,
		Long: "Print what the rotator will create, retire and drop, month by month, if readings continue to arrive as at present: tables, bytes,\n" +
			"requests and cost, and the month in which the quota of the account is reached. varve tables plan --simulate does so under another configuration.",
		Example: "  varve tables calendar --years 2\n  varve tables plan --simulate --config new.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.simulate(cmd, q, nil)
		},
	}
	calendarFlags(cmd, &q)
	return a.remote(cmd, "table", "json", "csv")
}

func calendarFlags(cmd *cobra.Command, q *client.CalendarQuery) {
	cmd.Flags().IntVar(&q.Years, "years", q.Years, "`years` to forecast, from 1 to 30")
	cmd.Flags().StringSliceVar(&q.ReadingsPerDay, "readings-per-day", nil, "the load of classes as `CLASS=N`, instead of the measured one")
}

// simulate prints a forecast. If p is nil, the forecast is for the policy in use.
func (a tableCommands) simulate(cmd *cobra.Command, q client.CalendarQuery, p *wire.PolicyBody) error {
	if q.Years < 1 || q.Years > 30 {
		return usageError{fmt.Errorf("--years %d: out of range: use a number from 1 to 30", q.Years)}
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	body, err := c.Calendar(cmd.Context(), q, p)
	if err != nil {
		return err
	}
	return a.showCalendar(&body)
}

// policyOf returns the policy of a configuration file, for a simulated forecast. Without a file, it
// returns nil. It ignores the environment variables of this machine, because the server may have others.
// The prefix and the kind of store are the server's unless the file sets them. The quota is the server's
// unless the file sets the quota or the kind of store.
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
		Drop: c.Retention.Drop, Archived: c.Retention.ArchiveFirst, Grace: timefmt.FormatDuration(c.Retention.Grace), Seal: timefmt.FormatDuration(c.Retention.Seal),
		MaxDrops: c.Retention.MaxDrops, Rollups: c.Rollups.Enabled, Classes: map[string]string{},
	}
	if _, ok := loaded.Origins["tables.prefix"]; ok {
		p.Prefix = c.Tables.Prefix
	}
	if _, ok := loaded.Origins["store.table_quota"]; ok {
		p.TableQuota = c.Store.TableQuota
	}
	if _, ok := loaded.Origins["store.kind"]; ok {
		p.Store = c.Store.Kind
		p.TableQuota = c.Store.TableQuota
	}
	for name, class := range c.Classes {
		p.Classes[name] = timefmt.FormatDuration(class.Retention)
	}
	return &p, nil
}

// showCalendar prints a forecast, with a mark at the month in which the quota is reached.
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
		row := []string{m.Month, fmt.Sprint(m.Created), fmt.Sprint(m.Retired), fmt.Sprint(m.Dropped), a.number(int64(m.Tables)), a.number(m.Readings), a.sizeOf(m.Readings, m.Bytes)}
		if billed {
			row = append(row, a.number(*m.Requests), fmt.Sprintf("%.2f", *m.Dollars))
		}
		switch {
		case met == "":
		case m.Month == met:
			row = append(row, "reached")
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

// sizeOf returns the size of stored readings. If readings exist and bytes is 0, the size is unknown. Then
// the output format "table" has the text "not known yet", and other formats have 0.
func (a tableCommands) sizeOf(readings, bytes int64) string {
	if readings > 0 && bytes == 0 && a.output == "table" {
		return "not known yet"
	}
	return a.bytes(bytes)
}

// showLoad prints the assumptions and the warnings of a forecast.
func (a tableCommands) showLoad(b *wire.CalendarBody) {
	fmt.Fprintf(a.out, "\nAt most %s tables at a time.\n", thousands(int64(b.Most)))
	if len(b.Load) == 0 {
		a.printText("No readings arrive at present, so the forecast is of tables only.")
	}
	for _, l := range b.Load {
		size, measured := bytesText(int64(l.Bytes)), ""
		if l.Bytes == 0 {
			size = "size not known yet"
		}
		if l.Measured != "" {
			measured = ", as measured over " + l.Measured
		}
		a.printText(fmt.Sprintf("Class %s is assumed to receive %s readings (%s) a day%s.", l.Class, thousands(int64(l.Readings)), size, measured))
		if span, err := timefmt.ParseDuration(l.Measured); err == nil && span < 24*time.Hour {
			a.printText(fmt.Sprintf("Warning: %s is short, and an import counts as if it continued: set --readings-per-day %s=N.", l.Measured, l.Class))
		}
	}
	for _, n := range b.Notes {
		a.printText("Assumed: " + n + ".")
	}
	for _, w := range b.Warnings {
		a.printText("Warning: " + w)
	}
}
