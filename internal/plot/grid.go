package plot

import (
	"math"
	"strings"
)

// Cell is a cell of a grid. It covers the columns from From to To-1.
type Cell struct {
	From, To int
	Value    float64 // determines the shade; 0 means an empty cell
	Ink      Ink
}

// GridRow is a row of a grid, with a label before it and a note after it.
type GridRow struct {
	Label, Note string
	Cells       []Cell
}

// Grid shows a table of cells. A darker shade is a higher value.
type Grid struct {
	Columns []string // the labels of the columns; as many as have room are shown
	Rows    []GridRow
	Style   Style
	Colors  bool
	Width   int // width of the grid with its labels, in characters
}

// shades returns the characters of empty cells and of the four shades.
func (s Style) shades() []string {
	if s == ASCII {
		return []string{".", "-", "+", "*", "#"}
	}
	return []string{"·", "░", "▒", "▓", "█"}
}

// Shades returns the characters of empty cells and of the four shades, and the highest value of each.
func (g *Grid) Shades() (characters []string, highest []float64) {
	most := 0.0
	for _, r := range g.Rows {
		for _, c := range r.Cells {
			most = max(most, c.Value)
		}
	}
	return g.Style.shades(), []float64{0, math.Floor(most / 64), math.Floor(most / 16), math.Floor(most / 4), most}
}

// Draw returns the grid as lines of text. A line has at most Width characters, if labels and notes
// leave room for a cell. If the columns have no room, neighbors share one character, which shows
// the highest of their values.
func (g *Grid) Draw() string {
	label, note := 0, 0
	for _, r := range g.Rows {
		label, note = max(label, width(r.Label)), max(note, width(r.Note))
	}
	room := max(g.Width-label-note-3, 1)
	wide, shared := max(min(room/max(len(g.Columns), 1), 4), 1), 1
	if len(g.Columns) > room {
		shared = (len(g.Columns) + room - 1) / room
	}
	shown := (len(g.Columns) + shared - 1) / shared
	out := sheet{colors: g.Colors}
	out.put(strings.Repeat(" ", label+1)+g.header(wide, shared, shown*wide), 0)
	out.newline()
	characters, highest := g.Shades()
	for _, r := range g.Rows {
		out.put(r.Label+strings.Repeat(" ", label-width(r.Label)+1), 0)
		for column := range shown {
			text, ink := strings.Repeat(" ", wide), Ink(0)
			if c, ok := r.cell(column*shared, (column+1)*shared); ok {
				text, ink = strings.Repeat(characters[shade(c.Value, highest)], wide), c.Ink
			}
			out.put(text, ink)
		}
		out.put("  "+r.Note, 0)
		out.newline()
	}
	return trimLines(out.String())
}

// cell returns the cell with the highest value in a range of columns.
func (r *GridRow) cell(from, to int) (best Cell, ok bool) {
	for _, c := range r.Cells {
		if c.From < to && c.To > from && (!ok || c.Value > best.Value) {
			best, ok = c, true
		}
	}
	return best, ok
}

func shade(value float64, highest []float64) int {
	for i, h := range highest {
		if value <= h {
			return i
		}
	}
	return len(highest) - 1
}

func (g *Grid) header(wide, shared, columns int) string {
	text := []rune(strings.Repeat(" ", columns))
	free := 0
	for i := 0; i < len(g.Columns); i += shared {
		at, label := i/shared*wide, []rune(g.Columns[i])
		if at >= free && at+len(label) <= len(text) {
			copy(text[at:], label)
			free = at + len(label) + 2
		}
	}
	return string(text)
}

// Spark returns one bar for each value. The height of a bar is the value as a share of the highest
// value. A value below 0 means that the value is missing, and is shown as a blank. In ASCII, bars are
// digits from 0 to 9.
func Spark(values []float64, style Style) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	if style == ASCII {
		bars = []rune("0123456789")
	}
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	text := make([]rune, len(values))
	for i, v := range values {
		switch {
		case v < 0:
			text[i] = ' '
		case most == 0 || v == 0:
			text[i] = bars[0]
		default:
			text[i] = bars[max(1, int(math.Round(v/most*float64(len(bars)-1))))]
		}
	}
	return string(text)
}
