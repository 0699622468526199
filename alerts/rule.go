package alerts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/timefmt"
)

// Kind says what a rule looks at.
type Kind string

// The kinds of rule.
const (
	OnValue Kind = "value"   // values of a field, by event time
	Deadman Kind = "deadman" // that no reading arrives
)

// Severity says how much an alert matters.
type Severity string

// The severities.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Severities returns all of them.
func Severities() []Severity { return []Severity{Info, Warning, Critical} }

func checkSeverity(s Severity) error {
	if slices.Contains(Severities(), s) {
		return nil
	}
	return varve.InvalidParam("severity", "%s is unknown: use %s", quote.Text(string(s)), param.Alternatives(Severities()))
}

// Comparison is how a value is compared with a rule's threshold.
type Comparison string

// Comparisons returns all of them. Numbers have them all, strings and booleans
// only the last two.
func Comparisons() []Comparison { return []Comparison{">", ">=", "<", "<=", "==", "!="} }

// Rule says when an alert is raised.
type Rule struct {
	Tenant string
	ID     string // the client's own, or one of the content
	Kind   Kind
	// Stream and Device say of which readings; at least one is set, save that a
	// deadman rule without both is about every active device.
	Stream, Device string
	Field          string
	Comparison     Comparison
	Threshold      varve.Value
	// For is how long the condition must hold, from one reading to another; of
	// a deadman rule, how long there is no reading.
	For time.Duration
	// Gap is the longest time between two readings of an episode: a longer one
	// ends it. NoGap means that none does; 0 is measured when the rule is made,
	// and for a deadman rule nothing.
	Gap         time.Duration
	GapMeasured bool // Gap was not given
	Severity    Severity
	CreatedAt   time.Time
	UpdatedAt   time.Time // zero if it was never edited
	MutedUntil  time.Time // zero if it is not muted
	// incarnation tells the rule from those that had its id before, or another
	// condition: what is recorded of those, and their alerts, are not its own.
	incarnation string
	deletedAt   time.Time // only of one whose alerts are still to be resolved
	retired     string    // its retirements
	version     int64     // of the item
}

// name tells the rule from all others of its tenant that are or were.
func (r *Rule) name() string { return r.ID + "/" + r.incarnation }

// Validate checks a rule, and gives it an id if it came without one.
func (r *Rule) Validate() error {
	if r.Kind == "" {
		r.Kind = OnValue
	}
	if err := r.checkScope(); err != nil {
		return err
	}
	if err := checkSeverity(r.Severity); err != nil {
		return err
	}
	var err error
	switch r.Kind {
	case OnValue:
		err = r.checkValue()
	case Deadman:
		err = r.checkDeadman()
	default:
		err = varve.InvalidParam("kind", "%s is unknown: use value or deadman", quote.Text(string(r.Kind)))
	}
	if err != nil {
		return err
	}
	if r.ID == "" {
		r.ID = "r" + r.contentID().String()
	}
	if err := varve.ValidateName("id", r.ID); err != nil {
		return varve.InvalidParam("id", "%s", err)
	}
	return nil
}

func (r *Rule) checkScope() error {
	if r.Stream != "" {
		if err := varve.ValidateName("stream", r.Stream); err != nil {
			return varve.InvalidParam("stream", "%s", err)
		}
	}
	if r.Device != "" {
		if err := varve.ValidateDevice(r.Device); err != nil {
			return varve.InvalidParam("device", "%s", err)
		}
	}
	if r.Stream == "" && r.Device == "" && r.Kind == OnValue {
		return varve.InvalidParam("stream", "name a stream, a device, or both")
	}
	return nil
}

func (r *Rule) checkValue() error {
	if r.Threshold.IsZero() || r.Threshold.Kind() == varve.KindJSON {
		return varve.InvalidParam("threshold", "it is no number, string or boolean")
	}
	// What is wrong with a field's name, readings know.
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

// maxFor bounds how long a condition must hold: readings of so long a time are
// looked at again with each new one.
const maxFor = 30 * 24 * time.Hour

// leastSilence is the shortest silence that can be told: devices are seen to
// the minute.
const leastSilence = time.Minute

func (r *Rule) checkDeadman() error {
	switch {
	case r.Field != "":
		return varve.InvalidParam("field", "a deadman rule has no field: it is about all readings")
	case r.Comparison != "":
		return varve.InvalidParam("comparison", "a deadman rule compares nothing")
	case !r.Threshold.IsZero():
		return varve.InvalidParam("threshold", "a deadman rule has no threshold: say with for how long there is no reading")
	case r.Gap != 0:
		return varve.InvalidParam("gap", "a deadman rule has no gap: say with for how long there is no reading")
	case r.For < leastSilence || r.For > 365*24*time.Hour:
		return varve.InvalidParam("for", "%s is not from %s to 1y", timefmt.FormatDuration(r.For), timefmt.FormatDuration(leastSilence))
	}
	return nil
}

// contentID is the id of a rule's content, made as those of readings are. A gap
// that was measured is not part of it.
func (r *Rule) contentID() varve.ID {
	c := r.condition()
	c.Fields = append(c.Fields, varve.Field{Name: "severity", Value: varve.StringValue(string(r.Severity))})
	slices.SortFunc(c.Fields, func(a, b varve.Field) int { return strings.Compare(a.Name, b.Name) })
	return c.ContentID()
}

// condition returns what says when alerts are raised, as fields in the order of
// their names.
func (r *Rule) condition() (c varve.Reading) {
	add := func(name string, v varve.Value) { c.Fields = append(c.Fields, varve.Field{Name: name, Value: v}) }
	add("comparison", varve.StringValue(string(r.Comparison)))
	add("device", varve.StringValue(r.Device))
	add("field", varve.StringValue(r.Field))
	add("for", varve.IntValue(int64(r.For)))
	if r.Gap != 0 && !r.GapMeasured {
		add("gap", varve.IntValue(int64(r.Gap)))
	}
	add("kind", varve.StringValue(string(r.Kind)))
	add("stream", varve.StringValue(r.Stream))
	if !r.Threshold.IsZero() {
		add("threshold", r.Threshold)
	}
	return c
}

// sameCondition reports whether two rules raise the same alerts.
func (r *Rule) sameCondition(q *Rule) bool {
	a, b := r.condition(), q.condition()
	return a.ContentID() == b.ContentID()
}

// same reports whether two rules say the same.
func (r *Rule) same(q *Rule) bool { return r.contentID() == q.contentID() }

// meets compares a value with the threshold. A value of another kind, or none,
// does not count.
func (r *Rule) meets(v varve.Value) (holds, counts bool) {
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

// String says what the rule is about, as its alerts do.
func (r *Rule) String() string {
	if r.Kind == Deadman {
		return "no reading for " + timefmt.FormatDuration(r.For)
	}
	text := fmt.Sprintf("%s %s %s", r.Field, r.Comparison, r.Threshold)
	if r.For > 0 {
		text += " for " + timefmt.FormatDuration(r.For)
	}
	return text
}
