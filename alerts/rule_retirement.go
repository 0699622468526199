package alerts

import (
	"fmt"
	"strconv"
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

// parseRetirements inverts retirementsText. A rule of an early version of Varve has an empty
// generation, so its line begins with a space.
func parseRetirements(text string) (list []retirement, err error) {
	for line := range strings.Lines(text) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(words) != 4 {
			return nil, fmt.Errorf("retired: %q has %d words, want 4", line, len(words))
		}
		r := retirement{generation: words[0], reason: words[1]}
		if r.at, err = registry.ParseTime(words[2]); err != nil {
			return nil, fmt.Errorf("retired: %w", err)
		}
		if r.passed, err = strconv.ParseBool(words[3]); err != nil {
			return nil, fmt.Errorf("retired: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
}
