package prometheus

import (
	"cmp"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// moments are the times at which an instant selector is evaluated, in milliseconds since 1970. Each
// evaluation uses the last sample at or before its time, so all other samples are discarded.
type moments struct {
	first, step int64 // the times are first, first + step, and so on; if step is 0, all samples are kept
}

// momentsOf returns the times at which a selector is evaluated. The first one is hints.Start plus the
// look-back minus a millisecond. A selector with a range needs all its samples. The times in subqueries
// depend on more than the hints, so all samples of a query with a subquery are kept, too.
func (v *queryStorage) momentsOf(hints *storage.SelectHints) moments {
	if hints.Range != 0 || v.hasSubquery {
		return moments{}
	}
	return moments{first: hints.Start + v.lookedBack.Milliseconds() - 1, step: cmp.Or(hints.Step, onlyMoment)}
}

// onlyMoment is the step of a selector that is evaluated once. It exceeds the length of each window.
const onlyMoment = 1 << 60

// atOrAfter returns the first of the times at or after t. If all samples are kept, it returns t.
func (m *moments) atOrAfter(t int64) int64 {
	switch {
	case m.step == 0:
		return t
	case t <= m.first:
		return m.first
	default:
		return m.first + (t-m.first+m.step-1)/m.step*m.step
	}
}

// room returns an upper bound of the number of samples that are kept, given the number of readings with a
// number and the time of the last reading.
func (m *moments) room(numbers int, last int64) int {
	if m.step == 0 {
		return numbers
	}
	return int(min(int64(numbers), max(last-m.first, 0)/m.step+2))
}

func hasSubquery(expr parser.Expr) (has bool) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		_, ok := node.(*parser.SubqueryExpr)
		has = has || ok
		return nil
	})
	return has
}
