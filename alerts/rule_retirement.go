package alerts

import (
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve/registry"
)

// retirement is a generation of a rule that ended because the rule was deleted or its condition
// changed. The open alerts of that generation must be resolved.
type retirement struct {
	generation string
	reason     string // ByRuleDeleted or ByRuleChanged
	at         time.Time
	passed     bool // retirer.finish has resolved the open alerts once
}

// retire records that a generation of the rule has ended, with the reason and the time.
func (r *Rule) retire(generation, reason string, at time.Time) {
	list, _ := parseRetirements(r.retired) // never fails: ruleOf has parsed the text before
	r.retired = retirementsText(append(list, retirement{generation: generation, reason: reason, at: at}))
}

func retirementsText(list []retirement) string {
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = fmt.Sprintf("%s %s %s %t", r.generation, r.reason, registry.TimeText(r.at), r.passed)
	}
	return strings.Join(lines, "\n")
}

func parseRetirements(text string) (list []retirement, err error) {
	for line := range strings.Lines(text) {
		var r retirement
		var at string
		if _, err := fmt.Sscanf(line, "%s %s %s %t", &r.generation, &r.reason, &at, &r.passed); err != nil {
			return nil, fmt.Errorf("retired: %w", err)
		}
		if r.at, err = registry.ParseTime(at); err != nil {
			return nil, fmt.Errorf("retired: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
}
