// Package plot draws charts and grids for terminals, as text.
//
//	Chart   lines of numbers over time, with axes and a legend
//	Grid    a table of shaded cells
//	Spark   one line of bars
//
// The package reads no terminal, no clock and no environment variables. The caller chooses a
// [Style] that the terminal can show, and whether it shows colors.
//
// A chart never has more columns or lines than its size. A grid is wider than its width only if its
// labels and notes leave no room for a cell. Names in a picture must be printable: the package
// escapes nothing.
package plot
