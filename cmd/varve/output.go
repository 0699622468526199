package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// listing has rows and their header for output in several formats.
type listing struct {
	header []string // names that the program chose, because CSV changes their spaces
	rows   [][]string
	empty  string // printed instead of an empty table
	// optional lists columns, the least important first. A terminal without enough room hides some of
	// them. --wide shows all.
	optional []string
	// below is the name of a column. A terminal without room for the column shows its cells on lines of
	// their own, below each row.
	below     string
	belowRows []string // the cells of that column, if it was moved below the rows
	// If explain is set, the text in the field "empty" is also printed for other formats, to standard
	// error.
	explain bool
}

func (g *listing) add(cells ...string) { g.rows = append(g.rows, cells) }

// show writes the listing as a table or CSV, or value as JSON or NDJSON.
func (a *app) show(g *listing, value any) error {
	if len(g.rows) == 0 && g.explain && a.output != "table" {
		fmt.Fprintln(a.err, g.empty)
	}
	switch a.output {
	case "json":
		return writeJSON(a.out, value)
	case "ndjson":
		return writeLines(a.out, value)
	case "csv":
		return writeCSV(a.out, csvHeader(g.header), g.rows)
	}
	if len(g.rows) == 0 {
		_, err := fmt.Fprintln(a.out, g.empty)
		return err
	}
	if a.columns > 0 && !a.wide && sum(g.widths()) > a.columns {
		return a.showNarrow(g)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, columnGap, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(cells(g.header)))
	for _, row := range g.rows {
		fmt.Fprintln(w, cells(row))
	}
	return w.Flush()
}

// showNarrow writes a table that fits the terminal, and names the columns that it leaves out.
func (a *app) showNarrow(g *listing) error {
	fitted, hidden := g.narrowed(a.columns)
	if err := writeWrapped(a.out, fitted, a.columns); err != nil || len(hidden) == 0 {
		return err
	}
	slices.Reverse(hidden)
	for _, line := range wrapped("Not shown: "+strings.Join(hidden, ", ")+" (--wide shows all columns)", a.columns) {
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

func writeCSV(out io.Writer, header []string, rows [][]string) error {
	w := csv.NewWriter(out)
	if err := w.Write(header); err != nil {
		return err
	}
	return w.WriteAll(rows)
}

// csvHeader returns the names of columns as one word each. It is only for names that the program chose:
// two names of users may differ only by a space.
func csvHeader(header []string) []string {
	names := slices.Clone(header)
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], " ", "_")
	}
	return names
}

// cells returns a row of a table. Each cell is escaped, so that it stays on one line.
func cells(row []string) string {
	shown := make([]string, len(row))
	for i, cell := range row {
		shown[i] = printable(cell)
	}
	return strings.Join(shown, "\t")
}

func writeJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// jsonIf writes value as JSON, unless its first argument is false.
func (a *app) jsonIf(is bool, value any) error {
	if !is {
		return nil
	}
	return writeJSON(a.out, value)
}

// sayCut prints a hint if more entries than the limit exist.
func (a *app) sayCut(more bool) error {
	if !more {
		return nil
	}
	_, err := fmt.Fprintln(a.err, "More exist: raise --limit, or omit it for all.")
	return err
}

// number formats a number with commas, or as plain digits in CSV.
func (a *app) number(n int64) string {
	if a.output == "csv" {
		return strconv.FormatInt(n, 10)
	}
	return thousands(n)
}

// bytes formats a number of bytes with a unit, or as plain digits in CSV.
func (a *app) bytes(n int64) string {
	if a.output == "csv" {
		return strconv.FormatInt(n, 10)
	}
	return bytesText(n)
}

// thousands formats a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count formats a number with a noun, in the plural unless the number is 1.
func count(n int, word string) string {
	switch {
	case n == 1:
		return "1 " + word
	case strings.HasSuffix(word, "s"):
		word += "e"
	}
	return thousands(int64(n)) + " " + word + "s"
}

// bytesText formats a number of bytes with a unit.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func dateOrNever(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return date(*t)
}

// rawValue returns a value as JSON, with all digits.
func rawValue(v varve.Value) json.RawMessage { return wire.AppendValue(nil, v) }
