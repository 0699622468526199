package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

const (
	columnGap   = 2 // number of spaces between columns
	leastColumn = 8 // the minimum width, in characters, to which a column shrinks, even if words are cut
)

var fraction = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$`)

// narrowed returns a copy of the listing for a terminal, and the names of the columns that the copy
// hides. Times are cut to seconds. Optional columns are hidden in their order until the lines fit
// the width, or no optional column is left. If the lines still do not fit, the cells of the column with
// the name g.below move to belowRows.
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
	if i := slices.Index(fitted.header, g.below); i >= 0 && sum(fitted.widths()) > width {
		fitted.header = slices.Delete(fitted.header, i, i+1)
		for r := range fitted.rows {
			fitted.belowRows = append(fitted.belowRows, fitted.rows[r][i])
			fitted.rows[r] = slices.Delete(fitted.rows[r], i, i+1)
		}
	}
	return fitted, hidden
}

// widths returns the width of each column. The widths of all columns but the last include columnGap.
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
// Columns of sentences become narrower first, down to their longest word. The other columns have names and
// ids, which users copy.
func (g *listing) shrunk(width int) []int {
	widths := g.widths()
	words := g.wordWidths()
	for _, all := range []bool{false, true} {
		for sum(widths) > width {
			widest := -1
			for i := range widths {
				least := leastColumn + columnGap
				if !all {
					least = max(words[i], utf8.RuneCountInString(g.header[i])+columnGap)
				}
				if (all || g.hasSentences(i)) && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
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

// wordWidths returns the width of the longest word in each column, including columnGap.
func (g *listing) wordWidths() []int {
	widths := make([]int, len(g.header))
	for _, row := range g.rows {
		for i, cell := range row {
			for _, word := range strings.Fields(printable(cell)) {
				widths[i] = max(widths[i], utf8.RuneCountInString(word)+columnGap)
			}
		}
	}
	return widths
}

// hasSentences reports whether a cell of a column has a space.
func (g *listing) hasSentences(column int) bool {
	return slices.ContainsFunc(g.rows, func(row []string) bool { return strings.Contains(row[column], " ") })
}

// writeWrapped writes a listing whose lines have at most width characters, if possible. Longer cells
// continue on the next line.
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
		if r > 0 && len(g.belowRows) > 0 {
			for _, line := range wrapped(printable(g.belowRows[r-1]), width-columnGap) {
				b.WriteString(strings.Repeat(" ", columnGap) + line + "\n")
			}
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

// printText prints a sentence. On a terminal, the sentence is cut into lines that fit.
func (a *app) printText(text string) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	width := a.columns - len(indent)
	if a.columns == 0 || a.wide || width < leastColumn {
		fmt.Fprintln(a.out, text)
		return
	}
	for _, line := range wrapped(text[len(indent):], width) {
		fmt.Fprintln(a.out, indent+line)
	}
}

// helpWidth is the width of help texts if the width of the terminal is unknown.
const helpWidth = 80

// wrapHelp fits the help of a command and of its subcommands to a terminal.
func wrapHelp(cmd *cobra.Command, columns int) {
	if columns <= 0 {
		columns = helpWidth
	}
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", columns)))
	cmd.Long = paragraphs(cmd.Long, columns)
	for _, sub := range cmd.Commands() {
		sub.Long = paragraphs(sub.Long, columns)
		for _, deep := range sub.Commands() {
			deep.Long = paragraphs(deep.Long, columns)
		}
	}
}

// paragraphs fits the lines of each paragraph to a width. It does not change paragraphs with
// indented lines.
func paragraphs(text string, width int) string {
	parts := strings.Split(text, "\n\n")
	for i, part := range parts {
		if !strings.HasPrefix(part, " ") && !strings.Contains(part, "\n ") {
			parts[i] = strings.Join(wrapped(strings.ReplaceAll(part, "\n", " "), width), "\n")
		}
	}
	return strings.Join(parts, "\n\n")
}

func lastSpace(runes []rune) int {
	for i := len(runes) - 1; i >= 0; i-- {
		if runes[i] == ' ' {
			return i
		}
	}
	return -1
}
