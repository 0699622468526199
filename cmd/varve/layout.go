package main

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	columnGap   = 2 // spaces between columns
	leastColumn = 8 // the least width of a wrapped column
)

// fraction matches a time with a fraction of a second.
var fraction = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$`)

// narrowed returns a copy of the listing for a terminal, and the names of the columns that the copy
// hides. Times are cut to seconds. Optional columns are hidden in their order until the lines fit
// the width, or none is left.
func (g *listing) narrowed(width int) (fitted *listing, hidden []string) {
	fitted = &listing{header: slices.Clone(g.header), empty: g.empty}
	for _, row := range g.rows {
		row = slices.Clone(row)
		for i := range row {
			row[i] = fraction.ReplaceAllString(row[i], "${1}Z")
		}
		fitted.rows = append(fitted.rows, row)
	}
	for _, name := range g.optional {
		if sum(fitted.widths()) <= width {
			break
		}
		i := slices.Index(fitted.header, name)
		if i < 0 {
			continue
		}
		hidden = append(hidden, name)
		fitted.header = slices.Delete(fitted.header, i, i+1)
		for r := range fitted.rows {
			fitted.rows[r] = slices.Delete(fitted.rows[r], i, i+1)
		}
	}
	return fitted, hidden
}

// widths returns the width of each column. The widths of all columns but the last include the gap.
func (g *listing) widths() []int {
	widths := make([]int, len(g.header))
	for _, row := range append([][]string{g.header}, g.rows...) {
		for i, cell := range row {
			n := utf8.RuneCountInString(printable(cell))
			if i < len(row)-1 {
				n += columnGap
			}
			widths[i] = max(widths[i], n)
		}
	}
	return widths
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// shrunk returns widths with which a line has at most width characters, if that is possible.
// Columns of sentences become narrower first, because names and ids are copied.
func (g *listing) shrunk(width int) []int {
	widths := g.widths()
	for _, all := range []bool{false, true} {
		for sum(widths) > width {
			widest := -1
			for i := range widths {
				if (all || g.hasSentences(i)) && widths[i] > leastColumn+columnGap && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	return widths
}

// hasSentences reports whether a cell of a column has a space.
func (g *listing) hasSentences(column int) bool {
	return slices.ContainsFunc(g.rows, func(row []string) bool { return strings.Contains(row[column], " ") })
}

// writeWrapped writes a listing with the widths of shrunk. Cells that are longer continue on the
// next line.
func writeWrapped(w io.Writer, g *listing, width int) error {
	widths := g.shrunk(width)
	var b strings.Builder
	for r, row := range append([][]string{g.header}, g.rows...) {
		cells, lines := make([][]string, len(row)), 0
		for i, cell := range row {
			room := widths[i]
			if i < len(row)-1 {
				room -= columnGap
			}
			if cells[i] = wrapped(printable(cell), room); r == 0 {
				cells[i] = wrapped(strings.ToUpper(cell), room)
			}
			lines = max(lines, len(cells[i]))
		}
		for line := range lines {
			text := ""
			for i := range cells {
				part := ""
				if line < len(cells[i]) {
					part = cells[i][line]
				}
				text += part + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(part)))
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrapped cuts a text into lines of at most width characters: at the last space that fits, or
// within a word that is too long.
func wrapped(text string, width int) (lines []string) {
	runes := []rune(text)
	for len(runes) > width {
		end := width
		if i := lastSpace(runes[:width+1]); i > 0 {
			end = i
		}
		lines = append(lines, strings.TrimRight(string(runes[:end]), " "))
		runes = []rune(strings.TrimLeft(string(runes[end:]), " "))
	}
	return append(lines, string(runes))
}

func lastSpace(runes []rune) int {
	for i := len(runes) - 1; i >= 0; i-- {
		if runes[i] == ' ' {
			return i
		}
	}
	return -1
}
