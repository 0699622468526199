package grid

import (
	"fmt"
	"time"
)

// Month is a calendar month in UTC, counted from year 0. Months can be compared with <, and m + n
// is n months after m.
type Month int

// MonthOf returns the month in UTC that contains t.
func MonthOf(t time.Time) Month {
	t = t.UTC()
	return NewMonth(t.Year(), t.Month())
}

// NewMonth returns the month m of a year.
func NewMonth(year int, m time.Month) Month { return Month(year*12 + int(m) - 1) }

// Year returns the year of the month.
func (m Month) Year() int { return int(m) / 12 }

// Calendar returns the month within its year, from January to December.
func (m Month) Calendar() time.Month { return time.Month(int(m)%12 + 1) }

// Start returns the first instant of the month.
func (m Month) Start() time.Time {
	return time.Date(m.Year(), m.Calendar(), 1, 0, 0, 0, 0, time.UTC)
}

// End returns the first instant after the month.
func (m Month) End() time.Time { return (m + 1).Start() }

// String formats the month as 2026-11.
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m.Year(), m.Calendar()) }
