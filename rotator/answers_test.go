package rotator_test

import (
	"errors"
	"fmt"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"slices"
	"strconv"
	"strings"
)

// describe formats a plan. All tables with the same arrival month and reason are on one line.
func describe(p *rotator.Plan, skipped bool) []string {
	var lines []string
	counts := map[string]int{}
	add := func(line string) {
		if counts[line]++; counts[line] == 1 {
			lines = append(lines, line)
		}
	}
	for _, a := range p.Actions {
		tier := ""
		if a.Kind == rotator.Create {
			tier = a.Tier.String() + " "
		}
		add(fmt.Sprintf("%s %%d %sof %s%s: %s", a.Kind, tier, a.Table.Month, other(a.Table), a.Reason))
	}
	for _, k := range p.Skipped {
		if skipped {
			add(fmt.Sprintf("skip %%d of %s%s: %s", k.Table.Month, other(k.Table), k.Reason))
		}
	}
	for i, line := range lines {
		lines[i] = strings.Replace(line, "%d", strconv.Itoa(counts[line]), 1)
	}
	return lines
}

// other returns the class of a table after a space, or "" for the default class.
func other(t grid.Table) string {
	if _, class, ok := strings.Cut(t.Prefix, "-"); ok {
		return " " + class
	}
	return ""
}

// failures formats an error as the number of failed actions.
func failures(err error) []string {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, lease.ErrHeld):
		return []string{"another run is under way"}
	}
	return []string{fmt.Sprintf("%d steps failed", failedSteps(err.Error()))}
}

func (s *script) list([]string) []string {
	type row struct {
		month grid.Month
		name  string
	}
	counts, tiers, held := map[row]int{}, map[row]map[store.Tier]int{}, map[row]int64{}
	var rows []row
	for _, in := range s.tables() {
		r := row{in.Month, other(in.Table) + " " + string(s.policy.StateOf(&in, s.clock))}
		if in.Hold != "" {
			r.name += " on hold"
		}
		if counts[r]++; counts[r] == 1 {
			rows, tiers[r] = append(rows, r), map[store.Tier]int{}
		}
		tiers[r][in.Tier]++
		held[r] += in.Readings
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.month.String()+a.name, b.month.String()+b.name) })
	var out []string
	for _, r := range rows {
		line := fmt.Sprintf("%s%s: %d tables", r.month, r.name, counts[r])
		for _, tier := range []store.Tier{store.Hot, store.Warm, store.Cold} {
			if n := tiers[r][tier]; n > 0 {
				line += fmt.Sprintf(", %d %s", n, tier)
			}
		}
		out = append(out, fmt.Sprintf("%s, %d readings", line, held[r]))
	}
	return out
}

func failedSteps(text string) int {
	lines := strings.Split(text, "\n")
	more := 0
	if _, err := fmt.Sscanf(lines[len(lines)-1], "and %d more steps failed", &more); err != nil {
		return len(lines)
	}
	return len(lines) - 1 + more
}
