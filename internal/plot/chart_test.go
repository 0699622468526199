package plot

import (
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the pictures in testdata")

var start = time.Date(2026, 4, 20, 18, 0, 0, 0, time.UTC)

// wave returns points of a sine, five minutes apart, with a gap of 100 minutes.
func wave(high float64) []Point {
	var all []Point
	for i := range 288 {
		if i < 100 || i > 118 {
			all = append(all, Point{start.Add(time.Duration(i) * 5 * time.Minute), high * math.Sin(float64(i)/288*2*math.Pi)})
		}
	}
	return all
}

// TestChart_IsPicture compares charts with the pictures in testdata.
func TestChart_IsPicture(t *testing.T) {
	one := []Line{{Name: "temperature", Points: wave(12.5), Gap: GapOf(wave(1))}}
	two := []Line{one[0], {Name: "humidity", Points: wave(-3), Gap: GapOf(wave(1))}}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Chart{
		"braille": {Lines: one, Columns: 64, Rows: 14},
		"blocks":  {Lines: one, Columns: 64, Rows: 14, Style: Blocks, Zone: berlin},
		"ascii":   {Lines: two, Columns: 64, Rows: 14, Style: ASCII},
		"colors":  {Lines: two, Columns: 64, Rows: 14, Colors: true},
		"inks":    {Lines: two, Columns: 64, Rows: 14},
		"window":  {Lines: one, Columns: 64, Rows: 10, From: start.Add(-30 * 24 * time.Hour), To: start.Add(30 * 24 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Draw()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, name, got)
		})
	}
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestChart_PutsPointInItsCell draws a line of one point, and checks that its only dot covers the time
// and the value of the point.
func TestChart_PutsPointInItsCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		style := rapid.SampledFrom([]Style{Braille, Blocks, ASCII}).Draw(t, "style")
		columns, rows := rapid.IntRange(2, 200).Draw(t, "columns"), rapid.IntRange(2, 60).Draw(t, "rows")
		axis := timeAxis{start, start.Add(time.Duration(rapid.Int64Range(1, 1<<60).Draw(t, "length"))), time.UTC}
		at := start.Add(time.Duration(rapid.Int64Range(0, int64(axis.to.Sub(start))-1).Draw(t, "at")))
		values := newScale(rapid.Float64Range(-1e12, 0).Draw(t, "low"), rapid.Float64Range(1e-3, 1e12).Draw(t, "high"), 5)
		value := rapid.Float64Range(values.low, values.high).Draw(t, "value")
		area := newCanvas(style, columns, rows)
		drawLine(area, &Line{Points: []Point{{at, value}}}, axis, values, Cyan)
		x, y := onlyDot(t, area)
		across, down := area.size()
		length := axis.to.Sub(start).Seconds()
		from, to := float64(x)/float64(across)*length, float64(x+1)/float64(across)*length
		if s := at.Sub(start).Seconds(); s < from-length*1e-9 || s > to+length*1e-9 {
			t.Fatalf("dot %d of %d is for %v to %v s, not %v s", x, across, from, to, s)
		}
		half := (values.high - values.low) / float64(down-1) / 2 * (1 + 1e-6)
		if shown := values.high - float64(y)*(values.high-values.low)/float64(down-1); math.Abs(shown-value) > half {
			t.Fatalf("dot %d of %d is for %v ± %v, not %v", y, down, shown, half, value)
		}
	})
}

// onlyDot returns the dot of a canvas, as its characters show it.
func onlyDot(t *rapid.T, area *canvas) (x, y int) {
	across, down := area.style.dots()
	found := 0
	for line := range area.lines {
		for column := range area.columns {
			r, ink := area.character(column, line)
			if r == ' ' {
				continue
			}
			if found++; ink != Cyan {
				t.Fatalf("ink %d", ink)
			}
			dot := map[Style]string{Braille: "⠁⠂⠄⡀⠈⠐⠠⢀", Blocks: "▘▖▝▗", ASCII: "*"}[area.style]
			before, _, ok := strings.Cut(dot, string(r))
			if !ok {
				t.Fatalf("%q is not one dot", r)
			}
			index := utf8.RuneCountInString(before)
			x, y = column*across+index/down, line*down+index%down
		}
	}
	if found != 1 {
		t.Fatalf("%d characters have dots", found)
	}
	return x, y
}

func TestChart_FitsSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Chart{
			Columns: rapid.IntRange(LeastColumns, 300).Draw(t, "columns"), Rows: rapid.IntRange(LeastRows, 80).Draw(t, "rows"),
			Style: rapid.SampledFrom([]Style{Braille, Blocks, ASCII}).Draw(t, "style"),
		}
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			l := Line{Name: rapid.StringMatching(`[a-zé ]{0,40}`).Draw(t, "name"), Gap: time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "gap"))}
			at := start
			for range rapid.IntRange(0, 5).Draw(t, "points") {
				at = at.Add(time.Duration(rapid.Int64Range(0, 1<<55).Draw(t, "step")))
				l.Points = append(l.Points, Point{at, rapid.Float64().Draw(t, "value")})
			}
			c.Lines = append(c.Lines, l)
		}
		text, err := c.Draw()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > c.Rows {
			t.Fatalf("%d lines, want at most %d:\n%s", len(lines), c.Rows, text)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > c.Columns {
				t.Fatalf("%q has more than %d columns", l, c.Columns)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Fatalf("a chart without colors has escape sequences: %q", text)
		}
	})
}

func TestChart_LeavesGapEmpty(t *testing.T) {
	points := []Point{{start, 1}, {start.Add(time.Minute), 1}, {start.Add(10 * time.Minute), 1}, {start.Add(11 * time.Minute), math.NaN()}, {start.Add(12 * time.Minute), 1}}
	for _, c := range []struct {
		gap  time.Duration
		want string
	}{{time.Minute, "**        * *"}, {0, "*********** *"}} {
		area := newCanvas(ASCII, 13, 1)
		drawLine(area, &Line{Points: points, Gap: c.gap}, timeAxis{start, start.Add(13 * time.Minute), time.UTC}, newScale(0, 2, 1), Cyan)
		var got strings.Builder
		for column := range area.columns {
			r, _ := area.character(column, 0)
			got.WriteRune(r)
		}
		if strings.TrimRight(got.String(), " ") != c.want {
			t.Errorf("gap %s: %q, want %q", c.gap, got.String(), c.want)
		}
	}
}

func TestChart_RefusesSmallSize(t *testing.T) {
	c := Chart{Columns: LeastColumns - 1, Rows: LeastRows}
	if _, err := c.Draw(); !errors.Is(err, ErrSmall) {
		t.Error(err)
	}
}

// TestScale_ContainsValues checks that the limits of a scale contain its values, and that the number of
// labels is bounded.
func TestScale_ContainsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-1e300, 1e300).Draw(t, "a"), rapid.Float64Range(-1e300, 1e300).Draw(t, "b")
		low, high := min(a, b), max(a, b)
		s := newScale(low, high, rapid.IntRange(1, 30).Draw(t, "steps"))
		slack := (s.high/2 - s.low/2) * 1e-6
		if n := len(s.labels()); s.low > low+slack || s.high < high-slack || n > 32 {
			t.Fatalf("%v to %v: %+v with %d labels", low, high, s, n)
		}
	})
}
