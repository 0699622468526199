package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/plot"
)

// stateInks are the colors of tables by state. A table on hold is red.
var stateInks = []struct {
	state string
	ink   plot.Ink
}{{"open", plot.Green}, {"sealed", plot.Blue}, {"retired", plot.Yellow}, {"on hold", plot.Red}, {"ahead", plot.Gray}}

// stateOf returns the state that a picture shows for a table.
func stateOf(t *wire.TableInfo) string {
	if t.Hold != "" {
		return "on hold"
	}
	return t.State
}

// ofTables draws the tables of each class: event time across, arrival months down.
func (a pictures) ofTables(list *wire.TableList, all bool) error {
	classes := map[string][]*wire.TableInfo{}
	var names []string
	for i := range list.Tables {
		t := &list.Tables[i]
		if classes[t.Class] == nil {
			names = append(names, t.Class)
		}
		classes[t.Class] = append(classes[t.Class], t)
	}
	slices.Sort(names)
	for _, name := range names {
		tables := classes[name]
		title := "class " + name
		if name == "" {
			title = "no class"
		}
		hidden := 0
		if !all {
			tables, hidden = withReadings(tables)
		}
		if err := a.ofClass(title, tables, hidden); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		fmt.Fprintln(a.out, "No tables exist yet.")
	}
	return nil
}

// withReadings omits the tables before the first and after the last table with readings or a hold. If no table
// has either, it omits none. The result "hidden" is the number of omitted tables.
func withReadings(tables []*wire.TableInfo) (shown []*wire.TableInfo, hidden int) {
	var from, to time.Time
	for _, t := range tables {
		if t.Readings == 0 && t.Hold == "" {
			continue
		}
		if from.IsZero() || t.From.Before(from) {
			from = t.From
		}
		if t.To.After(to) {
			to = t.To
		}
	}
	if from.IsZero() {
		return tables, 0
	}
	for _, t := range tables {
		if t.From.Before(to) && t.To.After(from) {
			shown = append(shown, t)
		}
	}
	return shown, len(tables) - len(shown)
}

func (a pictures) ofClass(title string, tables []*wire.TableInfo, hidden int) error {
	columns, _ := a.size()
	g := gridOf(tables)
	g.Style, g.Colors, g.Width = a.style(), a.hasColors(), columns
	total := int64(0)
	for _, t := range tables {
		total += t.Readings
	}
	fmt.Fprintf(a.out, "%s: event time across, arrival months down, %s readings\n", printable(title), thousands(total))
	if _, err := io.WriteString(a.screen, g.Draw()); err != nil {
		return err
	}
	if _, err := io.WriteString(a.screen, a.gridLegend(g)); err != nil {
		return err
	}
	if hidden > 0 {
		fmt.Fprintf(a.out, "%s outside of this range not shown: add --all\n", count(hidden, "empty table"))
	}
	fmt.Fprintln(a.out)
	return nil
}

// gridOf returns the picture of a grid of tables. Each boundary of a table begins a column, except
// the last boundary. So the columns may stand for different lengths of time.
func gridOf(tables []*wire.TableInfo) *plot.Grid {
	var bounds []time.Time
	months := map[string][]*wire.TableInfo{}
	for _, t := range tables {
		bounds = append(bounds, t.From, t.To)
		months[t.WriteMonth] = append(months[t.WriteMonth], t)
	}
	slices.SortFunc(bounds, time.Time.Compare)
	bounds = slices.CompactFunc(bounds, time.Time.Equal)
	g := &plot.Grid{}
	for _, b := range bounds[:max(len(bounds)-1, 0)] {
		g.Columns = append(g.Columns, date(b))
	}
	column := func(at time.Time) int {
		i, _ := slices.BinarySearchFunc(bounds, at, time.Time.Compare)
		return i
	}
	for month, row := range months {
		r := plot.GridRow{Label: printable(month), Note: statesOf(row)}
		for _, t := range row {
			r.Cells = append(r.Cells, plot.Cell{From: column(t.From), To: column(t.To), Value: float64(t.Readings), Ink: inkOfState(stateOf(t))})
		}
		g.Rows = append(g.Rows, r)
	}
	slices.SortFunc(g.Rows, func(r, s plot.GridRow) int { return strings.Compare(r.Label, s.Label) })
	return g
}

func inkOfState(state string) plot.Ink {
	for _, s := range stateInks {
		if s.state == state {
			return s.ink
		}
	}
	return 0
}

// statesOf returns the states of a row of tables. If they differ, it includes the number of tables
// in each state.
func statesOf(row []*wire.TableInfo) string {
	numbers := map[string]int{}
	for _, t := range row {
		numbers[stateOf(t)]++
	}
	var parts []string
	for _, s := range stateInks {
		if n := numbers[s.state]; n == len(row) {
			return s.state
		} else if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.state))
		}
	}
	return strings.Join(parts, ", ")
}

func (a pictures) gridLegend(g *plot.Grid) string {
	characters, highest := g.Shades()
	parts := []string{characters[0] + " empty"}
	for i := 1; i < len(characters); i++ {
		if highest[i] > highest[i-1] {
			parts = append(parts, characters[i]+" to "+thousands(int64(highest[i])))
		}
	}
	text := strings.Join(parts, "  ") + " readings"
	if g.Colors {
		var states []string
		for _, s := range stateInks {
			states = append(states, fmt.Sprintf("\x1b[%dm%s\x1b[0m", s.ink, s.state))
		}
		text += "\n" + strings.Join(states, "  ")
	}
	return text + "\n"
}
