package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// queryCommands are the commands that print readings and roll-ups.
type queryCommands struct{ *app }

func (a queryCommands) query() *cobra.Command {
	var q client.Query
	cmd := &cobra.Command{
		Use: "query STREAM DEVICE", Short: "Print the readings of a device in a window",
		Example: "  varve query weather sensor_01 --from -24h\n" +
			"  varve query weather sensor_01 --from 2026-04-01 --to 2026-05-01 --fields temperature -o csv\n" +
			"  varve query weather sensor_01 --during 2026-04 -o arrow > april.arrow\n" +
			"  varve query weather sensor_01 --during 2026-04 --order desc --limit 10\n" +
			"  varve query weather sensor_01 --from -24h --fields temperature --plot\n" +
			"  varve query weather sensor_01 --where 'temperature>30 and level=error'\n" +
			"  varve query weather sensor_01 --during 2024-04 --archive",
	}
	a.archiveFlag(cmd, &q.Archive)
	return a.ofDevice(cmd, &q)
}

// ofDevice adds the arguments and flags of a query of a device to a command.
func (a queryCommands) ofDevice(cmd *cobra.Command, q *client.Query) *cobra.Command {
	var order string
	var explain, plotted bool
	cmd.Args = takes(2, 2)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		q.Stream, q.Device = args[0], args[1]
		if q.Order, err = query.ParseOrder(order); err != nil {
			return usageError{fmt.Errorf("--%w", err)}
		}
		if q.Limit < 0 {
			return errNegativeLimit(q.Limit)
		}
		if explain && slices.Contains([]string{"ndjson", "columns", "arrow"}, a.output) {
			return usageError{fmt.Errorf("--explain has no output %s: use table, json or csv", a.output)}
		}
		if err := a.checkArrow(); err != nil {
			return err
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		if explain {
			return a.explain(cmd, c, *q)
		}
		if plotted {
			return pictures(a).ofReadings(cmd, c, *q)
		}
		return a.readings(cmd, c, *q)
	}
	f := cmd.Flags()
	whereFlag(cmd, &q.Where)
	windowFlags(cmd, &q.From, &q.To, &q.During)
	f.StringVar(&order, "order", "asc", "asc or desc")
	f.IntVar(&q.Limit, "limit", 0, "limit of readings; 0 means all")
	f.StringSliceVar(&q.Fields, "fields", nil, "only these `fields`, separated by commas")
	f.StringVar(&q.Cursor, "cursor", "", "continue after an earlier page")
	asOfFlag(cmd, &q.AsOf)
	f.BoolVar(&q.Versions, "versions", false, "print all versions of each reading; by default, only the highest one")
	scopeFlags(cmd, &q.Consistent, &q.SkipDamaged)
	f.StringVar(&q.Numbers, "numbers", "", "with -o arrow: exact, or float for the nearest 64-bit floats (default: exact)")
	f.BoolVar(&explain, "explain", false, "print the tables that would be read and the cost, without reading")
	plotFlag(cmd, &plotted)
	cmd.MarkFlagsMutuallyExclusive("plot", "explain")
	a.words(cmd, "order", "asc", "desc")
	a.words(cmd, "numbers", "exact", "float")
	return a.remote(cmd, "table", "json", "ndjson", "csv", "columns", "arrow")
}

// readings prints readings as the server sends them.
func (a queryCommands) readings(cmd *cobra.Command, c *client.Client, q client.Query) (err error) {
	if a.output == "table" {
		return a.readingsTable(cmd, c, q)
	}
	form, _ := wire.ParseFormat(a.output)
	resp, err := c.Raw(cmd.Context(), q, form)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	var seen beginning
	if _, err := io.Copy(io.MultiWriter(a.out, &seen), resp.Body); err != nil {
		return fmt.Errorf("the answer is incomplete: %w", err)
	}
	notes, err := notesOf(resp, &seen)
	if err != nil {
		return err
	}
	a.sayNotes(notes)
	next := ""
	if form != wire.JSON && form != wire.ColumnJSON {
		if next, err = client.NextOf(resp); err != nil {
			return err
		}
	}
	if next != "" {
		a.sayMore(next)
	}
	var cover query.Coverage
	if text := coverageOf(resp, &seen); text != nil {
		if err := json.Unmarshal(text, &cover); err != nil {
			return fmt.Errorf("coverage: %w", err)
		}
	}
	a.saySkipped(&cover)
	a.sayAsOf(&cover)
	if seen.empty() {
		fmt.Fprintln(a.err, noReadings(&q, cover.Expiry))
	}
	if line := ofPage(expiryText(cover.Expiry, seen.empty()), next); line != "" {
		fmt.Fprintln(a.err, line)
	}
	return nil
}

func (a queryCommands) saySkipped(c *query.Coverage) {
	for i := range c.Damaged {
		d := &c.Damaged[i]
		at := ""
		if d.TS != "" {
			at = " at ts " + d.TS
		}
		fmt.Fprintf(a.err, "Left out as damaged: row %q%s of table %s: %s\n", d.Series, at, d.Table, d.Problem)
	}
	if c.MoreDamaged > 0 {
		fmt.Fprintf(a.err, "Left out as damaged: %s more\n", count(c.MoreDamaged, "row"))
	}
	a.sayMissingTables(c.Missing, c.MoreMissing)
}

// sayMissingTables prints the tables that an answer lacks. The argument "more" is the number of tables without a name.
func (a *app) sayMissingTables(tables []string, more int) {
	for _, table := range tables {
		fmt.Fprintf(a.err, "Left out, because it was deleted: table %s\n", table)
	}
	if more > 0 {
		what := "table" // tenants other than the default one see no names of tables
		if len(tables) > 0 {
			what = "more table"
		}
		fmt.Fprintf(a.err, "Left out, because they were deleted: %s\n", count(more, what))
	}
}

func (a queryCommands) sayMore(cursor string) {
	fmt.Fprintf(a.err, "More exist: continue with --cursor %s\n", cursor)
}

func (a queryCommands) readingsTable(cmd *cobra.Command, c *client.Client, q client.Query) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	var answer client.Answer
	n, missing := 0, slices.Clone(q.Fields)
	longest := 0 // length of the longest text of a time so far
	for r, err := range c.Readings(cmd.Context(), q, &answer) {
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		if n == 0 {
			fmt.Fprintln(w, "TIME\t"+versionHeader(&q)+"FIELDS")
		}
		n++
		missing = slices.DeleteFunc(missing, func(name string) bool { return r.Field(name).Kind() != 0 })
		at := string(wire.AppendTime(nil, r.Time))
		longest = max(longest, len(at))
		version := versionCell(&q, r)
		for i, line := range a.fittedFields(r.Fields, longest+columnGap+versionWidth(&q)) {
			if i > 0 {
				at, version = "", versionCell(&q, &varve.Reading{})
			}
			fmt.Fprintf(w, "%s\t%s%s\n", at, version, line)
		}
		if n%1000 == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.sayAnswer(&q, &answer, n, missing)
	if n == 0 && q.Where == "" && q.Cursor == "" {
		return a.sayLatest(cmd.Context(), c, &q)
	}
	return nil
}

// sayLatest prints the time of a device's latest reading, to help with a window that has no
// readings.
func (a queryCommands) sayLatest(ctx context.Context, c *client.Client, q *client.Query) error {
	page, err := c.LatestPage(ctx, client.LatestQuery{Stream: q.Stream, By: varve.ByEvent, Devices: []string{q.Device}, AsOf: q.AsOf})
	if err != nil {
		return err
	}
	for _, l := range page.Latest {
		if l.Reading != nil {
			fmt.Fprintf(a.out, "Its latest reading is of %s.\n", wire.AppendTime(nil, l.Reading.Time))
		}
	}
	return nil
}

// sayAnswer prints the number of readings of an answer, and reports omitted readings and fields. The
// argument "missing" lists the requested fields that no reading has.
func (a queryCommands) sayAnswer(q *client.Query, answer *client.Answer, n int, missing []string) {
	a.saySkipped(&answer.Coverage)
	a.sayAsOf(&answer.Coverage)
	a.sayNotes(slices.DeleteFunc(answer.Notes, func(n wire.Note) bool { return n.Param == "query.fields" })) // sayMissing reports these fields
	if n == 0 {
		a.printText(noReadings(q, answer.Coverage.Expiry))
		if line := expiryText(answer.Coverage.Expiry, true); line != "" {
			a.printText(line)
		}
		return
	}
	fmt.Fprintf(a.out, "\n%s%s\n", count(n, "reading"), tablesText(&answer.Coverage))
	a.sayMissing(missing)
	if n := answer.Coverage.Conflicts; n > 0 {
		fmt.Fprintf(a.out, "%s arrived again in a later month with other values, which are not shown.\n", count(n, "reading"))
	}
	if line := ofPage(expiryText(answer.Coverage.Expiry, false), answer.Next); line != "" {
		a.printText(line)
	}
	if answer.Next != "" {
		a.sayMore(answer.Next)
	}
}

// tablesText returns the number of tables that were read. Only keys of tenant default may see this
// number.
func tablesText(c *query.Coverage) string {
	tables, archives := len(c.Read)+c.MoreRead, len(c.Archived)+c.MoreArchived
	switch {
	case archives == 0 && tables == 0:
		return ""
	case archives == 0:
		return "; " + count(tables, "table") + " read"
	case tables == 0:
		return "; " + count(archives, "archived table") + " read"
	default:
		return "; " + count(tables, "table") + " and " + count(archives, "archived table") + " read"
	}
}

// fittedFields returns the fields of a reading as text. On a terminal, the text is cut into lines that fit
// beside the columns on its left, whose width is the argument "times".
func (a queryCommands) fittedFields(fields []varve.Field, times int) []string {
	text := printable(fieldsText(fields))
	if a.columns == 0 || a.wide {
		return []string{text}
	}
	return wrapped(text, max(a.columns-times, leastColumn))
}

// noReadings returns a sentence about a window without live readings. The sentence differs if the window
// has expired readings.
func noReadings(q *client.Query, x *query.Expiry) string {
	switch {
	case q.Where != "":
		return fmt.Sprintf("No reading of device %s in stream %s matches in this window.", q.Device, q.Stream)
	case x != nil && (x.Readings > 0 || x.Tables > 0):
		return fmt.Sprintf("Device %s has no live readings in stream %s in this window.", q.Device, q.Stream)
	}
	if q.Archive == "only" {
		return fmt.Sprintf("Device %s has no archived readings in stream %s in this window.", q.Device, q.Stream)
	}
	return fmt.Sprintf("Device %s has no readings in stream %s in this window.", q.Device, q.Stream)
}

// expiryText describes the expired readings of a window. If the window has live readings, it
// describes only the expired readings that were found.
func expiryText(x *query.Expiry, isEmpty bool) string {
	switch {
	case x == nil, x.Readings == 0 && !isEmpty:
		return ""
	case x.Readings > 0:
		have := "have"
		if x.Readings == 1 {
			have = "has"
		}
		return fmt.Sprintf("%s of this window %s expired: %s.", count(x.Readings, "reading"), have, x.Rule)
	default:
		return fmt.Sprintf("Readings that happened and arrived before %s have expired: %s.", x.To.UTC().Truncate(time.Second).Format(time.RFC3339), x.Rule)
	}
}

// ofPage returns a line about the window. If another page follows, the returned line is about this page
// instead.
func ofPage(line, next string) string {
	if next == "" {
		return line
	}
	return strings.Replace(line, " of this window ", " in this page ", 1)
}

// sayMissing names the requested fields that an answer lacks.
func (a *app) sayMissing(fields []string) {
	if len(fields) > 0 {
		fmt.Fprintf(a.err, "None of them has a field %s.\n", strings.Join(fields, " or "))
	}
}

func fieldsText(fields []varve.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Name + "=" + string(wire.AppendValue(nil, f.Value))
	}
	return strings.Join(parts, " ")
}

func (a queryCommands) explain(cmd *cobra.Command, c *client.Client, q client.Query) error {
	x, err := c.Explain(cmd.Context(), q)
	if err != nil {
		return err
	}
	g := listing{header: []string{"action", "from", "to", "written", "requests", "units", "why"}, empty: "No table has readings in this window."}
	for _, t := range x.Tables {
		g.add(t.Action, date(t.From), date(t.To), t.WriteMonth, fmt.Sprint(t.Requests), fmt.Sprint(t.Units), t.Why)
	}
	if err := a.show(&g, x); err != nil || a.output != "table" {
		return err
	}
	fmt.Fprintf(a.out, "\nCost of reading to the end, at least: %s, %v read units.\n", count(x.Requests, "request"), x.Units)
	if line := expiryText(x.Expiry, true); line != "" {
		a.printText(line + " They are not counted without reading.")
	}
	return nil
}
