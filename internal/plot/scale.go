package plot

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

// scale maps values to dots. Its labels are the multiples of its step.
type scale struct {
	low, high, step float64
}

// newScale returns a scale for values from low to high, with at most the given number of steps. Its
// limits are a little outside of the values, so that they are round numbers.
func newScale(low, high float64, steps int) scale {
	if low > high {
		low, high = 0, 1
	}
	if low == high {
		wide := max(math.Abs(low)*0.05, math.SmallestNonzeroFloat32)
		if low == 0 {
			wide = 1
		}
		low, high = low-wide, high+wide
	}
	half := high/2 - low/2 // the span of huge numbers is infinite, half of it is not
	unit := math.Pow(10, math.Floor(math.Log10(half/float64(max(steps, 1))*2)))
	step := unit
	for _, by := range []float64{1, 2, 5, 10, 20} {
		if step = unit * by; half/step*2 <= float64(max(steps, 1)) {
			break
		}
	}
	fine := step / 5
	return scale{math.Floor(low/fine) * fine, math.Ceil(high/fine) * fine, step}
}

// labels returns the multiples of the step within the scale, the highest first.
func (s scale) labels() (all []float64) {
	first, last := math.Floor(s.high/s.step+1e-9), math.Ceil(s.low/s.step-1e-9)
	for i := first; i >= last && len(all) < 100; i-- {
		all = append(all, i*s.step)
	}
	return all
}

// dot returns the dot of a value in an area of the given number of dots. Dot 0 has the highest values.
func (s scale) dot(value float64, dots int) int {
	part := (value/2 - s.low/2) / (s.high/2 - s.low/2)
	return max(0, min(dots-1, int(math.Round((1-part)*float64(dots-1)))))
}

func (s scale) label(value float64) string {
	largest := max(math.Abs(s.low), math.Abs(s.high))
	if largest >= 1e9 || largest < 1e-4 {
		return strconv.FormatFloat(value, 'g', 4, 64)
	}
	digits := max(0, -int(math.Floor(math.Log10(s.step)+1e-9)))
	if text := strconv.FormatFloat(value, 'f', digits, 64); strings.Trim(text, "-0.") != "" {
		return text
	}
	return "0"
}

// timeSteps are the distances of labels on a time axis. A step of months has the length 0, because
// months have no fixed length.
var timeSteps = []struct {
	length         time.Duration
	months         int
	layout, larger string // larger is the layout of the first label of a larger unit
}{
	{time.Millisecond, 0, "05.000", "15:04:05"}, {10 * time.Millisecond, 0, "05.000", "15:04:05"}, {100 * time.Millisecond, 0, "05.000", "15:04:05"},
	{time.Second, 0, "15:04:05", ""}, {5 * time.Second, 0, "15:04:05", ""}, {15 * time.Second, 0, "15:04:05", ""}, {30 * time.Second, 0, "15:04:05", ""},
	{time.Minute, 0, "15:04", "01-02"}, {2 * time.Minute, 0, "15:04", "01-02"}, {5 * time.Minute, 0, "15:04", "01-02"},
	{10 * time.Minute, 0, "15:04", "01-02"}, {15 * time.Minute, 0, "15:04", "01-02"}, {30 * time.Minute, 0, "15:04", "01-02"},
	{time.Hour, 0, "15:04", "01-02"}, {2 * time.Hour, 0, "15:04", "01-02"}, {3 * time.Hour, 0, "15:04", "01-02"},
	{6 * time.Hour, 0, "15:04", "01-02"}, {12 * time.Hour, 0, "15:04", "01-02"},
	{24 * time.Hour, 0, "01-02", "2006"}, {2 * 24 * time.Hour, 0, "01-02", "2006"}, {4 * 24 * time.Hour, 0, "01-02", "2006"},
	{7 * 24 * time.Hour, 0, "01-02", "2006"}, {14 * 24 * time.Hour, 0, "01-02", "2006"},
	{0, 1, "2006-01", ""}, {0, 2, "2006-01", ""}, {0, 3, "2006-01", ""}, {0, 6, "2006-01", ""},
	{0, 12, "2006", ""}, {0, 24, "2006", ""}, {0, 60, "2006", ""}, {0, 120, "2006", ""}, {0, 600, "2006", ""}, {0, 6000, "2006", ""},
}

// timeAxis maps times to columns or dots.
type timeAxis struct {
	from, to time.Time
	zone     *time.Location
}

// dot returns the dot of a time in an area of the given number of dots.
func (a timeAxis) dot(at time.Time, dots int) int {
	whole := seconds(a.from, a.to)
	if whole <= 0 {
		return 0
	}
	return max(0, min(dots-1, int(seconds(a.from, at)/whole*float64(dots))))
}

// seconds returns the seconds between two times, which may be centuries apart.
func seconds(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// tick is a label of the time axis and its column.
type tick struct {
	column int
	text   string
}

// labelGap is the minimum number of columns per label, beyond its text.
const labelGap = 3

// ticks returns the labels that have room in a number of columns.
func (a timeAxis) ticks(columns int) []tick {
	for _, step := range timeSteps {
		length := step.length.Seconds()
		if step.months > 0 {
			length = float64(step.months) * 28 * 86400
		}
		if room := length / max(seconds(a.from, a.to), 1e-9) * float64(columns); room < float64(len(step.layout)+labelGap) {
			continue
		}
		var all []tick
		for at := firstTick(a.from.In(a.zone), step.length, step.months); at.Before(a.to); at = nextTick(at, step.length, step.months) {
			text := at.Format(step.layout)
			if step.larger != "" && isLarger(at, step.length) {
				text = at.Format(step.larger)
			}
			all = append(all, tick{a.dot(at, columns), text})
		}
		return all
	}
	return nil
}

// isLarger reports whether a larger unit begins at a time. The unit is a second for steps below one
// second, a year for steps of days, and otherwise a day.
func isLarger(at time.Time, step time.Duration) bool {
	switch {
	case step < time.Second:
		return at.Nanosecond() == 0
	case step >= 24*time.Hour:
		return at.YearDay() == 1
	}
	return at.Hour() == 0 && at.Minute() == 0
}

// firstTick returns the first label that is not before a time.
func firstTick(from time.Time, step time.Duration, months int) time.Time {
	if months > 0 {
		month := from.Year()*12 + int(from.Month()) - 1
		at := monthStart(month/months*months, from.Location())
		if at.Before(from) {
			at = monthStart(month/months*months+months, from.Location())
		}
		return at
	}
	day := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location())
	if step >= 24*time.Hour {
		if day.Before(from) {
			day = day.AddDate(0, 0, 1)
		}
		return day
	}
	// Labels are at multiples of the step after midnight. When summer time begins or ends, labels with
	// steps of more than an hour may not be at whole steps of the clock.
	past := from.Sub(day)
	at := day.Add(past.Truncate(step))
	if at.Before(from) {
		at = at.Add(step)
	}
	return at
}

func monthStart(month int, zone *time.Location) time.Time {
	return time.Date(month/12, time.Month(month%12+1), 1, 0, 0, 0, 0, zone)
}

func nextTick(at time.Time, step time.Duration, months int) time.Time {
	switch {
	case months > 0:
		return at.AddDate(0, months, 0)
	case step >= 24*time.Hour:
		return at.AddDate(0, 0, int(step/(24*time.Hour)))
	}
	return at.Add(step)
}

// width returns the number of columns of a text on a terminal. It counts a wide character as one
// column, which only makes a legend longer.
func width(text string) int { return utf8.RuneCountInString(text) }
