package plot

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func weeks() Grid {
	g := Grid{Columns: []string{"2026-03-02", "2026-03-09", "2026-03-16", "2026-03-23", "2026-03-30"}, Width: 60}
	g.Rows = []GridRow{
		{Label: "2026-03", Note: "sealed", Cells: []Cell{{0, 2, 100, Blue}, {2, 3, 1000, Blue}, {3, 4, 6000, Blue}}},
		{Label: "2026-04", Note: "open", Cells: []Cell{{2, 3, 0, Green}, {3, 4, 50, Green}, {4, 5, 1500, Green}}},
	}
	return g
}

// TestGrid_IsPicture compares grids with the pictures in testdata.
func TestGrid_IsPicture(t *testing.T) {
	plain, colors, narrow := weeks(), weeks(), weeks()
	plain.Style, colors.Colors, narrow.Width = ASCII, true, 22
	for name, g := range map[string]Grid{"grid-ascii": plain, "grid-colors": colors, "grid-narrow": narrow} {
		t.Run(name, func(t *testing.T) { compare(t, name, g.Draw()) })
	}
}

// TestGrid_ShowsEachCell checks that each column of a row shows the highest of its cells.
func TestGrid_ShowsEachCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 150).Draw(t, "columns")
		g := Grid{Columns: make([]string, columns), Width: rapid.IntRange(10, 200).Draw(t, "width"), Style: ASCII}
		var row GridRow
		for at := 0; at < columns; {
			to := min(columns, at+rapid.IntRange(1, 5).Draw(t, "wide"))
			row.Cells = append(row.Cells, Cell{From: at, To: to, Value: rapid.Float64Range(0, 1000).Draw(t, "value")})
			at = to
		}
		g.Rows = []GridRow{row}
		lines := strings.Split(g.Draw(), "\n")
		text := strings.TrimPrefix(lines[1], " ")
		if utf8.RuneCountInString(lines[1]) > g.Width {
			t.Fatalf("%q has more than %d columns", lines[1], g.Width)
		}
		_, highest := g.Shades()
		for i, r := range text {
			var most float64
			for _, c := range row.Cells {
				// Character i stands for an equal share of the columns.
				from, to := columnsOf(i, columns, g.Width-3)
				if c.From < to && c.To > from {
					most = max(most, c.Value)
				}
			}
			if want := ".-+*#"[shade(most, highest)]; byte(r) != want {
				t.Fatalf("character %d of %q is %c, want %c", i, text, r, want)
			}
		}
	})
}

// columnsOf returns the columns that a character stands for.
func columnsOf(character, columns, room int) (from, to int) {
	if columns > room {
		shared := (columns + room - 1) / room
		return character * shared, (character + 1) * shared
	}
	wide := min(room/columns, 4)
	return character / wide, character/wide + 1
}

func TestSpark_ShowsHeights(t *testing.T) {
	for _, c := range []struct {
		values []float64
		style  Style
		want   string
	}{
		{[]float64{0, 1, 50, 100, -1, 100}, Braille, "▁▂▅█ █"},
		{[]float64{0, 1, 50, 100, -1, 100}, ASCII, "0159 9"},
		{[]float64{0, 0}, Braille, "▁▁"},
		{nil, Braille, ""},
	} {
		if got := Spark(c.values, c.style); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
