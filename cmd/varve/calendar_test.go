package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/wire"
)

// TestCalendar_StatesUnknownSizes prints a forecast of readings whose size the store does not know
// yet. Neither the rows nor the load may claim a size of 0 bytes.
func TestCalendar_StatesUnknownSizes(t *testing.T) {
	var out bytes.Buffer
	a := tableCommands{&app{std: &std{out: &out}, output: "table"}}
	err := a.showCalendar(&wire.CalendarBody{
		Months: []wire.CalendarMonth{{Month: "2026-11", Readings: 7}},
		Load:   []wire.CalendarLoad{{Class: "default", Readings: 168, Measured: "1h"}, {Class: "audit", Readings: 5, Bytes: 50, Measured: "1d"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"7         not known yet",
		"Class default is assumed to receive 168 readings (size not known yet) a day, as measured over 1h.",
		"Warning: 1h is short, and an import counts as if it continued: set --readings-per-day default=N.",
		"Class audit is assumed to receive 5 readings (50 B) a day, as measured over 1d.",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%s\nwant %q", out.String(), line)
		}
	}
	if n := strings.Count(out.String(), "Warning"); n != 1 {
		t.Errorf("%d warnings, want one", n)
	}
}
