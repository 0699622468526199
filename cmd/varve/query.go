package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	var order string
	var explain bool
	cmd := &cobra.Command{
		Use: "query STREAM DEVICE", Short: "Print the readings of a device in a window",
		Example: "  varve query weather sensor_01 --from -24h\n" +
			"  varve query weather sensor_01 --from 2026-04-01 --to 2026-05-01 --fields temperature -o csv\n" +
			"  varve query weather sensor_01 --during 2026-04 --order desc --limit 10\n" +
			"  varve query weather sensor_01 --where 'temperature>30 and level=error'",
		Args: takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.Stream, q.Device = args[0], args[1]
			if q.Order, err = varve.ParseOrder(order); err != nil {
				return usageError{fmt.Errorf("--%w", err)}
			}
			if q.Limit < 0 {
				return errNegativeLimit(q.Limit)
			}
			if explain && (a.output == "ndjson" || a.output == "columns") {
				return usageError{fmt.Errorf("--explain has no output %s: use table, json or csv", a.output)}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			if explain {
				return a.explain(cmd, c, q)
			}
			return a.readings(cmd, c, q)
		},
	}
	f := cmd.Flags()
	whereFlag(cmd, &q.Where)
	windowFlags(cmd, &q.From, &q.To, &q.During)
	f.StringVar(&order, "order", "asc", "asc or desc")
	f.IntVar(&q.Limit, "limit", 0, "limit of readings; 0 means all")
	f.StringSliceVar(&q.Fields, "fields", nil, "only these `fields`, separated by commas")
	f.StringVar(&q.Cursor, "cursor", "", "continue after an earlier page")
	f.BoolVar(&q.Consistent, "consistent", false, "see every reading acknowledged before")
	f.BoolVar(&q.SkipDamaged, "skip-damaged", false, "omit and report damaged rows instead of failing")
	f.BoolVar(&explain, "explain", false, "print the tables that would be read and the cost, without reading")
	a.words(cmd, "order", "asc", "desc")
	return a.remote(cmd, "table", "json", "ndjson", "csv", "columns")
}

// readings prints readings while they arrive.
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
		return fmt.Errorf("the answer breaks off: %w", err)
	}
	notes, err := notesOf(resp, &seen)
	if err != nil {
		return err
	}
	a.sayNotes(notes)
	if next := resp.Trailer.Get("Varve-Next"); next != "" {
		a.sayMore(next)
	}
	var cover query.Coverage
	if text := resp.Trailer.Get("Varve-Coverage"); text != "" {
		if err := json.Unmarshal([]byte(text), &cover); err != nil {
			return fmt.Errorf("coverage: %w", err)
		}
	}
	a.saySkipped(&cover)
	if seen.empty() {
		fmt.Fprintln(a.err, noReadings(&q, cover.Expiry))
	}
	if line := expiryText(cover.Expiry, seen.empty()); line != "" {
		fmt.Fprintln(a.err, line)
	}
	return nil
}

// beginning stores the beginning and the end of an answer, and counts its lines.
type beginning struct {
	text []byte
	last []byte // the end of the answer
	rows int    // number of lines; CSV and JSON without readings have one line
}

// lastBytes is the length of the end of an answer that is kept. Notes are longer only if hundreds
// of fields are misspelt.
const lastBytes = 64 << 10

func (b *beginning) Write(p []byte) (int, error) {
	b.rows += bytes.Count(p, []byte{'\n'})
	if most := 64 - len(b.text); most > 0 {
		b.text = append(b.text, p[:min(most, len(p))]...)
	}
	b.last = append(b.last, p[max(0, len(p)-lastBytes):]...)
	b.last = b.last[max(0, len(b.last)-lastBytes):]
	return len(p), nil
}

// notesOf returns the notes on an answer: from its trailer, or the last member of its JSON.
func notesOf(resp *http.Response, seen *beginning) (notes []wire.Note, err error) {
	if text := resp.Trailer.Get("Varve-Notes"); text != "" {
		return notes, json.Unmarshal([]byte(text), &notes)
	}
	const member = `,"notes":`
	at := bytes.LastIndex(seen.last, []byte(member))
	text, whole := bytes.CutSuffix(seen.last, []byte("}\n"))
	if at < 0 || !whole || json.Unmarshal(text[at+len(member):], &notes) != nil {
		return nil, nil //nolint:nilerr // another text of the answer looks like the member
	}
	return notes, nil
}

// empty reports whether the answer has no readings, in any format.
func (b *beginning) empty() bool {
	if bytes.HasPrefix(b.text, []byte(`{"readings":[`)) {
		return bytes.HasPrefix(b.text, []byte(`{"readings":[]`))
	}
	return len(b.text) == 0 || bytes.HasPrefix(b.text, []byte(`{"time":[]`)) || bytes.HasPrefix(b.text, []byte("time,")) && b.rows <= 1
}

// saySkipped prints the damaged rows that were left out.
func (a queryCommands) saySkipped(c *query.Coverage) {
	for i := range c.Damaged {
		d := &c.Damaged[i]
		fmt.Fprintf(a.err, "Left out as damaged: row %q at ts %s of table %s: %s\n", d.Series, d.TS, d.Table, d.Problem)
	}
	if c.MoreDamaged > 0 {
		fmt.Fprintf(a.err, "Left out as damaged: %s more\n", count(c.MoreDamaged, "row"))
	}
}

func (a queryCommands) sayMore(cursor string) {
	fmt.Fprintf(a.err, "More exist: continue with --cursor %s\n", cursor)
}

func (a queryCommands) readingsTable(cmd *cobra.Command, c *client.Client, q client.Query) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	var answer client.Answer
	n, missing := 0, slices.Clone(q.Fields)
	for r, err := range c.Readings(cmd.Context(), q, &answer) {
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		if n == 0 {
			fmt.Fprintln(w, "TIME\tFIELDS")
		}
		n++
		missing = slices.DeleteFunc(missing, func(name string) bool { return r.Field(name).Kind() != 0 })
		fmt.Fprintf(w, "%s\t%s\n", wire.AppendTime(nil, r.Time), printable(fieldsText(r.Fields)))
		if n%1000 == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.saySkipped(&answer.Coverage)
	a.sayNotes(slices.DeleteFunc(answer.Notes, func(n wire.Note) bool { return n.Param == "query.fields" })) // see missing
	if n == 0 {
		fmt.Fprintln(a.out, noReadings(&q, answer.Coverage.Expiry))
		if line := expiryText(answer.Coverage.Expiry, true); line != "" {
			fmt.Fprintln(a.out, line)
		}
		return nil
	}
	from := "" // only keys of tenant default see the tables
	if tables := len(answer.Coverage.Read) + answer.Coverage.MoreRead; tables > 0 {
		from = " from " + count(tables, "table")
	}
	fmt.Fprintf(a.out, "\n%s%s\n", count(n, "reading"), from)
	a.sayMissing(missing)
	if n := answer.Coverage.Conflicts; n > 0 {
		fmt.Fprintf(a.out, "%s arrived again in a later month with other values, which are not shown.\n", count(n, "reading"))
	}
	if line := expiryText(answer.Coverage.Expiry, false); line != "" {
		fmt.Fprintln(a.out, line)
	}
	if answer.Next != "" {
		a.sayMore(answer.Next)
	}
	return nil
}

// noReadings describes a window without live readings. It distinguishes windows that have expired
// readings.
func noReadings(q *client.Query, x *query.Expiry) string {
	switch {
	case q.Where != "":
		return fmt.Sprintf("No reading of device %s in stream %s matches in this window.", q.Device, q.Stream)
	case x != nil && (x.Readings > 0 || x.Tables > 0):
		return fmt.Sprintf("Device %s has no live readings in stream %s in this window.", q.Device, q.Stream)
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
		return fmt.Sprintf("Readings that happened and arrived before %s have expired: %s.", x.To.UTC().Truncate(time.Minute).Format(time.RFC3339), x.Rule)
	}
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
		fmt.Fprintln(a.out, line)
	}
	return nil
}
