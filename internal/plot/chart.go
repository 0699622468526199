package plot

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"
)

// Point is a number at a time.
type Point struct {
	Time  time.Time
	Value float64
}

// Line is a named sequence of points, in the order of time.
type Line struct {
	Name   string
	Points []Point
	// Gap is the longest time between two points that are connected. If 0, all points are
	// connected.
	Gap time.Duration
}

// Chart shows lines over time.
type Chart struct {
	Lines    []Line
	From, To time.Time      // beginning and exclusive end of the time axis; if zero, the outermost point is on the axis
	Zone     *time.Location // time zone of the labels; if nil, UTC
	Style    Style
	Colors   bool
	Columns  int // width of the chart, in characters
	Rows     int // height of the chart, in lines of text
}

// The minimum size of a chart, in characters and lines of text.
const (
	LeastColumns = 32
	LeastRows    = 8
)

// ErrSmall means that a chart has too few columns or rows.
var ErrSmall = errors.New("too small for a chart: 32 columns and 8 lines are needed")

// Draw returns the chart as lines of text. It has at most Rows lines of at most Columns characters.
func (c *Chart) Draw() (string, error) {
	if c.Columns < LeastColumns || c.Rows < LeastRows {
		return "", ErrSmall
	}
	style := c.Style
	if !c.Colors && len(c.Lines) > 1 {
		style = ASCII // without colors, lines differ only in the characters of this style
	}
	out := sheet{colors: c.Colors}
	legend := c.legend(style)
	lines := c.Rows - len(legend) - 2
	axis := c.timeAxis()
	low, high := c.limits(axis)
	values := newScale(low, high, max(lines/2, 2))
	labels := valueLabels(values, lines, style)
	margin := 0
	for _, l := range labels {
		margin = max(margin, width(l))
	}
	area := newCanvas(style, c.Columns-margin-2, lines)
	for i := range c.Lines {
		drawLine(area, &c.Lines[i], axis, values, InkOf(i))
	}
	for _, l := range legend {
		l.write(&out)
	}
	for line := range lines {
		out.put(pad(labels[line], margin)+axisSide(style, labels[line] != ""), 0)
		for column := range area.columns {
			r, ink := area.character(column, line)
			out.put(string(r), ink)
		}
		out.newline()
	}
	writeTimes(&out, axis.ticks(area.columns), style, margin, area.columns)
	return trimLines(out.String()), nil
}

// timeAxis returns the time axis of the chart. If From or To is zero, the first or last point takes its
// place.
func (c *Chart) timeAxis() timeAxis {
	axis := timeAxis{c.From, c.To, c.Zone}
	if axis.zone == nil {
		axis.zone = time.UTC
	}
	var first, last time.Time
	for i := range c.Lines {
		if p := c.Lines[i].Points; len(p) > 0 {
			if first.IsZero() || p[0].Time.Before(first) {
				first = p[0].Time
			}
			if last.IsZero() || p[len(p)-1].Time.After(last) {
				last = p[len(p)-1].Time
			}
		}
	}
	if axis.from.IsZero() {
		axis.from = first
	}
	if axis.to.IsZero() {
		axis.to = last.Add(1) // axis.to is excluded, so the last point is on the axis
	}
	if !axis.to.After(axis.from) {
		axis.to = axis.from.Add(time.Second)
	}
	return axis
}

// limits returns the smallest and the largest value on the axis. If no point is on the axis, low is
// above high.
func (c *Chart) limits(axis timeAxis) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range c.Lines {
		for _, p := range c.Lines[i].Points {
			if isDrawn(p, axis) {
				low, high = min(low, p.Value), max(high, p.Value)
			}
		}
	}
	return low, high
}

// isDrawn reports whether a point has a finite value and is on the axis.
func isDrawn(p Point, axis timeAxis) bool {
	return !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) && !p.Time.Before(axis.from) && p.Time.Before(axis.to)
}

// drawLine draws the points of a line and connects them, except over gaps.
func drawLine(area *canvas, l *Line, axis timeAxis, values scale, ink Ink) {
	across, down := area.size()
	var before Point
	connect := false
	lastX, lastY := 0, 0
	for _, p := range l.Points {
		if !isDrawn(p, axis) {
			connect = false
			continue
		}
		x, y := axis.dot(p.Time, across), values.dot(p.Value, down)
		if connect && (l.Gap == 0 || p.Time.Sub(before.Time) <= l.Gap) {
			area.line(lastX, lastY, x, y, ink)
		} else {
			area.set(x, y, ink)
		}
		before, connect, lastX, lastY = p, true, x, y
	}
}

func valueLabels(s scale, lines int, style Style) []string {
	labels := make([]string, lines)
	_, down := style.dots()
	for _, value := range s.labels() {
		if line := s.dot(value, lines*down) / down; labels[line] == "" {
			labels[line] = s.label(value)
		}
	}
	return labels
}

// axisSide returns the characters of the value axis in one line of the chart.
func axisSide(style Style, isTick bool) string {
	switch {
	case style == ASCII && isTick:
		return " +"
	case style == ASCII:
		return " |"
	case isTick:
		return " ┤"
	default:
		return " │"
	}
}

func writeTimes(out *sheet, ticks []tick, style Style, margin, columns int) {
	corner, flat, mark := "└", '─', '┬'
	if style == ASCII {
		corner, flat, mark = "+", '-', '+'
	}
	axis := slices.Repeat([]rune{flat}, columns)
	texts := slices.Repeat([]rune{' '}, columns+margin+2)
	for _, t := range ticks {
		axis[t.column] = mark
		at := t.column + margin + 2 - width(t.text)/2
		if at+width(t.text) <= len(texts) && at >= 0 {
			copy(texts[at:], []rune(t.text))
		}
	}
	out.put(strings.Repeat(" ", margin+1)+corner+string(axis), 0)
	out.newline()
	out.put(string(texts), 0)
	out.newline()
}

// legendLine is a line of the legend: names with their inks.
type legendLine struct {
	texts []string
	inks  []Ink
}

func (l *legendLine) write(out *sheet) {
	for i, text := range l.texts {
		if i > 0 {
			out.put("  ", 0)
		}
		out.put(text, l.inks[i])
	}
	out.newline()
}

// end appends the number of names that the legend lacks, as in "and 3 more". To make room, it removes
// names from the end of the line, and counts them, too. The argument "missing" is the number of names
// that were never added to the legend.
func (l *legendLine) end(missing, columns int) {
	for {
		more := "and " + itoa(missing) + " more"
		used := width(more)
		for _, text := range l.texts {
			used += 2 + width(text)
		}
		if used <= columns {
			l.texts, l.inks = append(l.texts, more), append(l.inks, 0)
			return
		}
		l.texts, l.inks, missing = l.texts[:len(l.texts)-1], l.inks[:len(l.inks)-1], missing+1
	}
}

// legend returns the lines of the legend. If the names need more than a quarter of the height, the legend
// ends with the number of names that are left out.
func (c *Chart) legend(style Style) []legendLine {
	most := max(c.Rows/4, 1)
	lines, used := []legendLine{{}}, 0
	for i := range c.Lines {
		mark := "■"
		if style == ASCII {
			mark = string(markOf(InkOf(i)))
		}
		text := cut(mark+" "+c.Lines[i].Name, c.Columns)
		last := &lines[len(lines)-1]
		if used > 0 && used+2+width(text) > c.Columns {
			if len(lines) == most {
				last.end(len(c.Lines)-i, c.Columns)
				return lines
			}
			lines, used = append(lines, legendLine{}), 0
			last = &lines[len(lines)-1]
		}
		if used > 0 {
			used += 2
		}
		last.texts, last.inks, used = append(last.texts, text), append(last.inks, InkOf(i)), used+width(text)
	}
	return lines
}

func cut(text string, columns int) string {
	if r := []rune(text); len(r) > columns {
		return string(r[:columns])
	}
	return text
}

func pad(text string, columns int) string {
	return strings.Repeat(" ", max(columns-width(text), 0)) + text
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// GapOf returns the gap of points that usually have equal distances: five times the median distance.
// For fewer than three points, it returns 0.
func GapOf(points []Point) time.Duration {
	if len(points) < 3 {
		return 0
	}
	steps := make([]time.Duration, len(points)-1)
	for i := range steps {
		steps[i] = points[i+1].Time.Sub(points[i].Time)
	}
	slices.Sort(steps)
	if middle := steps[len(steps)/2]; middle < math.MaxInt64/5 {
		return 5 * middle
	}
	return 0
}
