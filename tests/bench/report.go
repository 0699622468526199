package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// report prints figures as they are measured.
type report struct{}

func newReport() *report { return &report{} }

func (*report) line(what string, value float64, unit string) {
	fmt.Printf("%-72s %12s %s\n", what, figure(value), unit)
}

// median prints the median of several rounds, and their range.
func (r *report) median(what string, values []float64, unit string) {
	slices.Sort(values)
	r.line(what, values[len(values)/2], fmt.Sprintf("%s  (%s to %s)", unit, figure(values[0]), figure(values[len(values)-1])))
}

func figure(v float64) string {
	switch {
	case v >= 1000:
		s := fmt.Sprintf("%.0f", v)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for _, line := range strings.Split(string(data), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
