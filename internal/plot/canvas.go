package plot

import "strings"

// Style is the kind of characters of a picture.
type Style int

// Styles, from the finest to the coarsest.
const (
	Braille Style = iota // a character has 2 × 4 dots
	Blocks               // a character has 2 × 2 dots
	ASCII                // a character is one dot; each ink has its own character
)

// dots returns the number of dots of a character: across and down.
func (s Style) dots() (across, down int) {
	switch s {
	case Braille:
		return 2, 4
	case Blocks:
		return 2, 2
	default:
		return 1, 1
	}
}

// brailleDots are the bits of the dots of a braille character, by line and column.
var brailleDots = [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// quadrants has the block characters. Each bit of an index fills a quarter of the character. Bit 0
// is for the upper left quarter, bit 1 the upper right, bit 2 the lower left and bit 3 the lower right.
var quadrants = []rune(" ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█")

// marks are the characters of lineInks in ASCII, in the same order.
const marks = "*+xo#@"

// canvas is an area of dots. The dot 0, 0 is the upper left one.
type canvas struct {
	style          Style
	columns, lines int
	mask           []uint8 // for each character, the bits of its dots
	inks           []Ink   // for each character, its ink
}

func newCanvas(style Style, columns, lines int) *canvas {
	return &canvas{style, columns, lines, make([]uint8, columns*lines), make([]Ink, columns*lines)}
}

func (c *canvas) size() (across, down int) {
	across, down = c.style.dots()
	return across * c.columns, down * c.lines
}

// set draws a dot. Dots outside of the canvas are ignored.
func (c *canvas) set(x, y int, ink Ink) {
	across, down := c.size()
	if x < 0 || y < 0 || x >= across || y >= down {
		return
	}
	dx, dy := c.style.dots()
	at := y/dy*c.columns + x/dx
	c.inks[at] = ink
	switch c.style {
	case Braille:
		c.mask[at] |= brailleDots[y%4][x%2]
	case Blocks:
		c.mask[at] |= 1 << (y%2*2 + x%2)
	default:
		c.mask[at] = 1
	}
}

// line draws a straight line of dots, including both ends.
func (c *canvas) line(x, y, toX, toY int, ink Ink) {
	dx, dy := max(toX-x, x-toX), max(toY-y, y-toY)
	stepX, stepY := 1, 1
	if toX < x {
		stepX = -1
	}
	if toY < y {
		stepY = -1
	}
	for rest := dx - dy; ; {
		c.set(x, y, ink)
		if x == toX && y == toY {
			return
		}
		twice := 2 * rest
		if twice > -dy {
			rest, x = rest-dy, x+stepX
		}
		if twice < dx {
			rest, y = rest+dx, y+stepY
		}
	}
}

func (c *canvas) character(column, line int) (rune, Ink) {
	at := line*c.columns + column
	mask, ink := c.mask[at], c.inks[at]
	switch {
	case mask == 0:
		return ' ', 0
	case c.style == Braille:
		return 0x2800 + rune(mask), ink
	case c.style == Blocks:
		return quadrants[mask], ink
	default:
		return markOf(ink), ink
	}
}

func markOf(ink Ink) rune {
	for i, one := range lineInks {
		if one == ink {
			return rune(marks[i])
		}
	}
	return rune(marks[0])
}

// Ink is a color of a terminal: an SGR parameter of ECMA-48. 0 means the terminal's own color.
type Ink int

// Inks that terminals of 16 colors have.
const (
	Red     Ink = 31
	Green   Ink = 32
	Yellow  Ink = 33
	Blue    Ink = 34
	Magenta Ink = 35
	Cyan    Ink = 36
	Gray    Ink = 90
)

// lineInks are the inks of the lines of a chart, in order.
var lineInks = []Ink{Cyan, Yellow, Magenta, Green, Blue, Red}

// MostLines is the number of lines that have an ink of their own.
var MostLines = len(lineInks)

// InkOf returns the ink of a line of a chart.
func InkOf(line int) Ink { return lineInks[line%len(lineInks)] }

// sheet collects the text of a picture.
type sheet struct {
	strings.Builder
	colors bool
	ink    Ink
}

// put appends text in an ink. It writes an escape sequence only if the ink changes.
func (s *sheet) put(text string, ink Ink) {
	if s.colors && ink != s.ink && strings.TrimLeft(text, " ") != "" {
		s.change(ink)
	}
	s.WriteString(text)
}

// newline changes to the terminal's own color, and ends the line.
func (s *sheet) newline() {
	s.change(0)
	s.WriteByte('\n')
}

func (s *sheet) change(ink Ink) {
	if ink == s.ink {
		return
	}
	s.ink = ink
	s.WriteString("\x1b[")
	s.WriteString(itoa(int(ink)))
	s.WriteByte('m')
}
