package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/plot"
	"github.com/varvedb/varve/timefmt"
)

type pictures struct{ *app }

// The size of a terminal that does not report one.
const (
	usualColumns = 80
	usualRows    = 24
)

// maxPlotted is the largest number of values that a chart may have, because all are in memory.
const maxPlotted = 2_000_000

func plotFlag(cmd *cobra.Command, plotted *bool) {
	cmd.Flags().BoolVar(plotted, "plot", false, "draw a chart of the numbers on the terminal")
}

// needsTerminal returns an error if a flag draws a picture, and standard output is not a terminal or
// another output is selected.
func (a pictures) needsTerminal(flag, instead string) error {
	if a.output != "table" {
		return usageError{fmt.Errorf("--%s: excludes -o %s: omit one of them", flag, a.output)}
	}
	if a.screen == nil {
		return usageError{fmt.Errorf("--%s: requires a terminal: use %s for a file or a program", flag, instead)}
	}
	return nil
}

// size returns the columns and rows of the terminal.
func (a pictures) size() (columns, rows int) {
	if a.columns <= 0 || a.rows <= 0 {
		return usualColumns, usualRows
	}
	return a.columns, a.rows
}

// style returns the characters that the terminal shows, according to its locale. The Linux console
// shows blocks, but not braille.
func (a pictures) style() plot.Style {
	locale := ""
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale = strings.ToLower(os.Getenv(name)); locale != "" {
			break
		}
	}
	switch {
	case !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8"):
		return plot.ASCII
	case os.Getenv("TERM") == "linux":
		return plot.Blocks
	}
	return plot.Braille
}

// hasColors reports whether pictures have colors: see https://no-color.org.
func (a pictures) hasColors() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// draw prints a chart that fits the terminal. It leaves room for a number of lines of text below the
// chart.
func (a pictures) draw(c *plot.Chart, below int) error {
	const tallest = 40 // a taller chart shows nothing more
	columns, rows := a.size()
	c.Columns, c.Rows = columns, min(rows-below-1, tallest)
	c.Style, c.Colors = a.style(), a.hasColors()
	text, err := c.Draw()
	if errors.Is(err, plot.ErrSmall) {
		return fmt.Errorf("--plot: a terminal of %d columns and %d rows is too small: enlarge it to %d by %d, or omit --plot",
			columns, rows, plot.LeastColumns, plot.LeastRows+below+1)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.screen, text)
	return err
}

type lines struct {
	all    map[string]*plot.Line
	order  []string        // names of the lines, in order of appearance
	points int             // number of points of all lines
	others map[string]bool // fields with values that are not numbers
}

func newLines() *lines {
	return &lines{all: map[string]*plot.Line{}, others: map[string]bool{}}
}

func (l *lines) add(name string, p plot.Point) error {
	line := l.all[name]
	if line == nil {
		line = &plot.Line{Name: printable(name)}
		l.all[name] = line
		l.order = append(l.order, name)
	}
	if l.points++; l.points > maxPlotted {
		return fmt.Errorf("--plot: more than %s values: use a shorter window, or varve aggregate --plot", thousands(maxPlotted))
	}
	line.Points = append(line.Points, p)
	return nil
}

// leftOut returns a text about the lines that the method "chart" omits, or "" if it omits none.
func (l *lines) leftOut(remedy string) string {
	if n := len(l.order) - plot.MostLines; n > 0 {
		return fmt.Sprintf("Drawn: the first %d of %s. Left out: %s. %s", plot.MostLines, count(len(l.order), "line"), thousands(int64(n)), remedy)
	}
	return ""
}

// printOmitted prints a text about omitted lines, unless it is empty.
func (a pictures) printOmitted(text string) {
	if text != "" {
		a.printText(text)
	}
}

// chart returns a chart of the first lines, at most one for each color. The function "gap" returns the
// longest time between two values that a line connects.
func (l *lines) chart(gap func([]plot.Point) time.Duration) *plot.Chart {
	c := &plot.Chart{}
	for _, name := range l.order[:min(len(l.order), plot.MostLines)] {
		line := l.all[name]
		slices.SortStableFunc(line.Points, func(p, q plot.Point) int { return p.Time.Compare(q.Time) })
		line.Gap = gap(line.Points)
		c.Lines = append(c.Lines, *line)
	}
	return c
}

// ofReadings draws the numbers of readings, one line per field.
func (a pictures) ofReadings(cmd *cobra.Command, c *client.Client, q client.Query) error {
	if err := a.needsTerminal("plot", "-o csv"); err != nil {
		return err
	}
	all, n, missing := newLines(), 0, slices.Clone(q.Fields)
	var answer client.Answer
	for r, err := range c.Readings(cmd.Context(), q, &answer) {
		if err != nil {
			return err
		}
		n++
		missing = slices.DeleteFunc(missing, func(name string) bool { return r.Field(name).Kind() != 0 })
		for _, f := range r.Fields {
			if f.Value.Kind() != varve.KindNumber {
				all.others[f.Name] = true
				continue
			}
			if err := all.add(f.Name, plot.Point{Time: r.Time, Value: f.Value.Number().Float64()}); err != nil {
				return err
			}
		}
	}
	below, omitted := 6, all.leftOut("Choose others with --fields.") // 6 lines for texts below the chart
	if len(all.order) > 0 {
		slices.Sort(all.order)
		chart := all.chart(plot.GapOf)
		chart.From, chart.To = axisOf(q.From, q.To, q.During, time.UTC)
		if err := a.draw(chart, below+len(omitted)/40); err != nil {
			return err
		}
		a.printOmitted(omitted)
	}
	queryCommands(a).sayAnswer(&q, &answer, n, missing)
	for name := range all.all {
		delete(all.others, name)
	}
	if n > 0 && len(all.others) > 0 {
		a.printText("Not drawn, because they are not numbers: " + printable(strings.Join(slices.Sorted(maps.Keys(all.others)), ", ")))
	}
	return nil
}

// ofBuckets draws aggregates, one line per device, field and function.
func (a pictures) ofBuckets(cmd *cobra.Command, c *client.Client, q client.AggregateQuery) error {
	if err := a.needsTerminal("plot", "-o csv"); err != nil {
		return err
	}
	answer, err := c.Aggregate(cmd.Context(), q)
	if err != nil {
		return err
	}
	a.sayNotes(answer.Notes)
	all, err := linesOfBuckets(answer.Buckets, q.Functions)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(q.Timezone)
	if err != nil {
		return err
	}
	below, omitted := 4, all.leftOut("Choose others with devices, --fields, --functions, or --top.")
	if len(all.order) > 0 {
		chart := all.chart(gapOfBuckets)
		chart.Zone = zone
		chart.From, chart.To = axisOf(q.From, q.To, q.During, zone)
		if err := a.draw(chart, below+len(omitted)/40); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "\n%s of %s\n", count(len(answer.Buckets), "bucket"), q.Step)
		a.printOmitted(omitted)
	} else {
		fmt.Fprintln(a.out, noBuckets)
	}
	return queryCommands(a).reportSkipped(answer.Coverage, len(answer.Buckets) == 0)
}

// linesOfBuckets returns a line for each device, field and function. The name of a line has its device,
// field and function, without a device or function that all lines share. A field that all lines share is
// omitted only if several devices exist.
func linesOfBuckets(buckets []wire.AggregateBody, functions []string) (*lines, error) {
	devices, fields := map[string]bool{}, map[string]bool{}
	for i := range buckets {
		devices[buckets[i].Device] = true
		for name := range buckets[i].Fields {
			fields[name] = true
		}
	}
	all := newLines()
	for i := range buckets {
		b := &buckets[i]
		at, err := time.Parse(time.RFC3339Nano, b.Start)
		if err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		for _, name := range slices.Sorted(maps.Keys(b.Fields)) {
			for _, function := range functions {
				var value *float64
				if err := json.Unmarshal(b.Fields[name][function], &value); err != nil || value == nil {
					continue // the result is not a number, because the values are not numbers
				}
				var parts []string
				if len(devices) > 1 {
					parts = append(parts, b.Device)
				}
				if len(fields) > 1 || len(devices) == 1 {
					parts = append(parts, name)
				}
				if len(functions) > 1 {
					parts = append(parts, function)
				}
				if err := all.add(strings.Join(parts, " "), plot.Point{Time: at, Value: *value}); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// gapOfBuckets returns the longest time between neighboring buckets that a line connects: one and
// a half times the shortest such time. Months and days differ in length by less than that.
func gapOfBuckets(points []plot.Point) time.Duration {
	least := time.Duration(math.MaxInt64)
	for i := 1; i < len(points); i++ {
		least = min(least, points[i].Time.Sub(points[i-1].Time))
	}
	if least > math.MaxInt64/3 {
		return 0
	}
	return least * 3 / 2
}

// axisOf returns the limits of a window, so that a chart shows empty parts of the window. A limit that
// only the server can compute is the zero time. On that side, the chart ends with its values.
func axisOf(from, to, during string, zone *time.Location) (time.Time, time.Time) {
	if during != "" {
		w, err := timefmt.ParseWindow(during)
		if err != nil {
			return time.Time{}, time.Time{}
		}
		return timefmt.FirstInstant(w.From, zone), timefmt.FirstInstant(w.To, zone)
	}
	return limitOf(from, zone), limitOf(to, zone)
}

// limitOf parses a limit of a window as the server does.
func limitOf(text string, zone *time.Location) time.Time {
	if t, ok, err := timefmt.ParseRelative(text, now(), zone); ok && err == nil {
		return t
	}
	t, v := wire.TimeFormat{Location: zone, Choice: wire.EarlierLocal}.Parse(text)
	if v.Outcome == varve.Rejected {
		return time.Time{}
	}
	return t
}
