package main

import (
	"fmt"
	"strings"

	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/rotator"
)

// boundText describes the maximum number of tables of a configuration. It names the classes
// without a maximum.
func boundText(c *config.Config) (lines []string) {
	b, ok := c.Bound(now(), rotator.Outage)
	if !ok {
		return []string{"Tables are never dropped while retention.drop is false: their number has no bound."}
	}
	whose := "At most"
	switch names := strings.Join(b.Forever, ", "); len(b.Forever) {
	case 0:
	case 1:
		lines = append(lines, fmt.Sprintf("Class %s keeps its readings forever: its tables are never dropped, and their number has no bound.", names))
	default:
		lines = append(lines, fmt.Sprintf("Classes %s keep their readings forever: their tables are never dropped, and their number has no bound.", names))
	}
	if b.Classes == 0 {
		return lines
	}
	if len(b.Forever) > 0 {
		whose = "Of the other classes, at most"
	}
	return append(lines, fmt.Sprintf("%s %d tables at a time, if no run of the rotator is missed for 20 days.", whose, b.Tables))
}
