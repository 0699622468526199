// Package plot draws charts and grids for terminals, as text.
//
//	Chart   lines of numbers over time, with axes and a legend
//	Grid    a table of shaded cells
//	Spark   one line of bars
//
// The main types and functions:
//
//   - [Chart] has named lines of points, and [Chart.Draw] returns its picture.
//   - [Grid] has rows of cells, and [Grid.Draw] returns its picture.
//   - [Spark] returns a bar for each value.
//   - [Style] is the kind of characters: braille, blocks or ASCII.
//
// These rules always hold:
//
//   - The package reads no terminal, no clock and no environment variables. The caller chooses a
//     style that the terminal can show, and whether it shows colors.
//   - A chart never has more columns or lines than its size. A grid is wider than its width only if
//     its labels and notes leave no room for a cell.
//   - The package escapes nothing, so names in a picture must be printable.
//
// Only charts can fail: [ErrSmall] means that a chart has too few columns or rows.
package plot
