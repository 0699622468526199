package alerts

import (
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/timefmt"
)

// OnValue is the kind of rules that compare a field with a threshold, by event time.
const OnValue = defaultKind

func init() { kinds[OnValue] = valueKind{} }

// maxFor bounds the time for which a condition must hold. The evaluation of a new reading may have
// to read all earlier readings of the series within that time.
const maxFor = 30 * 24 * time.Hour

// Comparisons returns all comparisons. Numbers support all of them, strings and booleans only the
// last two.
func Comparisons() []Comparison { return []Comparison{">", ">=", "<", "<=", "==", "!="} }

type valueKind struct{}

func (valueKind) needsStreamOrDevice() bool { return true }

func (valueKind) describe(r *Rule) string {
	text := fmt.Sprintf("%s %s %s", r.Field, r.Comparison, r.Threshold)
	if r.For > 0 {
		text += " for " + timefmt.FormatDuration(r.For)
	}
	return text
}

func (valueKind) check(r *Rule) error {
	if r.Threshold.IsZero() || r.Threshold.Kind() == varve.KindJSON {
		return varve.InvalidParam("threshold", "missing or an object: use a number, string or boolean")
	}
	// Normalizing a reading checks the name of the field.
	one := varve.Reading{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "d"}, Time: time.Unix(0, 0),
		Fields: []varve.Field{{Name: r.Field, Value: r.Threshold}},
	}
	if v := one.Normalize(); v.Outcome == varve.Rejected {
		return varve.InvalidParam("field", "%s", v.Message)
	}
	if !slices.Contains(Comparisons(), r.Comparison) {
		return varve.InvalidParam("comparison", "%s is unknown: use %s", quote.Text(string(r.Comparison)), param.Alternatives(Comparisons()))
	}
	if r.Threshold.Kind() != varve.KindNumber && r.Comparison != "==" && r.Comparison != "!=" {
		return varve.InvalidParam("comparison", "%s compares numbers, and the threshold is a %s: use == or !=", r.Comparison, r.Threshold.Kind())
	}
	if r.For < 0 || r.For > maxFor {
		return varve.InvalidParam("for", "%s is not from 0s to %s", timefmt.FormatDuration(r.For), timefmt.FormatDuration(maxFor))
	}
	if r.Gap != 0 && r.Gap != NoGap && (r.Gap < leastGap || r.Gap > maxGap) {
		return varve.InvalidParam("gap", "%s is not from %s to %s: use such a duration, or none", timefmt.FormatDuration(r.Gap),
			timefmt.FormatDuration(leastGap), timefmt.FormatDuration(maxGap))
	}
	return nil
}

func (k valueKind) sample(r *Rule, reading *varve.Reading, one *sample) (counts bool) {
	one.value = reading.Field(r.Field)
	one.at, one.late = positionOf(reading), reading.Arrived.Sub(reading.Time) >= lateFrom
	one.holds, counts = k.compare(r, &one.value)
	return counts
}

// compare compares a value with the threshold. A missing value, or one of another type,
// does not count.
func (valueKind) compare(r *Rule, v *varve.Value) (holds, counts bool) {
	if v.Kind() != r.Threshold.Kind() {
		return false, false
	}
	switch r.Comparison {
	case "==":
		return v.Equal(r.Threshold), true
	case "!=":
		return !v.Equal(r.Threshold), true
	}
	c := v.Number().Compare(r.Threshold.Number())
	switch r.Comparison {
	case ">":
		return c > 0, true
	case ">=":
		return c >= 0, true
	case "<":
		return c < 0, true
	default:
		return c <= 0, true
	}
}
