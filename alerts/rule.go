package alerts

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
	"github.com/varvedb/varve/internal/quote"
)

// Kind names the kind of condition that a rule has.
type Kind string

// defaultKind is the kind of rules that name no kind.
const defaultKind Kind = "value"

// ruleKind implements the parts of a rule that differ between kinds. Each kind is in a file of
// its own, and is also a readingKind or a clockKind.
type ruleKind interface {
	// check returns the first error in the fields that depend on the kind.
	check(r *Rule) error
	// needsStreamOrDevice reports whether a rule must name a stream or a device.
	needsStreamOrDevice() bool
	// describe returns the condition as alerts show it.
	describe(r *Rule) string
}

// kinds has all kinds by name. The file of a kind adds its kind in an init function.
var kinds = map[Kind]ruleKind{}

// Severity is the importance of an alert.
type Severity string

// Severities of an alert, from the lowest to the highest.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Severities returns all severities, from the lowest to the highest.
func Severities() []Severity { return []Severity{Info, Warning, Critical} }

func checkSeverity(s Severity) error {
	if slices.Contains(Severities(), s) {
		return nil
	}
	return varve.InvalidParam("severity", "%s is unknown: use %s", quote.Text(string(s)), param.Alternatives(Severities()))
}

// Comparison is the operator that compares a value with the threshold of a rule.
type Comparison string

// Rule is a condition on readings or on silence. An alert opens once the condition has held long enough.
type Rule struct {
	Tenant string
	ID     string // chosen by the client, or computed from the content
	Kind   Kind
	// Stream and Device select the readings. At least one is set, except in a deadman rule. A
	// deadman rule with neither applies to every active device of the tenant.
	Stream, Device string
	Field          string
	Comparison     Comparison
	Threshold      varve.Value
	// For is the time for which the condition must hold, from the first reading to a later one.
	// In a deadman rule, it is the time without a reading.
	For time.Duration
	// Gap is the longest time between two readings of an episode. NoGap means no limit. If 0, the
	// gap is measured when the rule is added or its condition changes; a deadman rule has no gap.
	Gap         time.Duration
	GapMeasured bool // if true, Gap was measured, and was not given by the client
	Severity    Severity
	Late        LateMode // how late alerts are delivered; if empty, LateDigest
	CreatedAt   time.Time
	UpdatedAt   time.Time // zero if the rule was never edited
	MutedUntil  time.Time // zero if the rule is not muted
	// generation separates the rule from earlier rules with the same id, and from its own earlier
	// conditions. Their records and alerts have other generations.
	generation string
	deletedAt  time.Time // set while the alerts of a deleted rule are being resolved
	retired    string    // generations whose open alerts must be resolved, formatted by retirementsText
	version    int64     // version of the item
}

// name returns a name that no other rule of the tenant has or had.
func (r *Rule) name() string { return r.ID + "/" + r.generation }

// globalName returns a name that no other rule has or had.
func (r *Rule) globalName() string { return r.Tenant + "/" + r.name() }

// String returns the condition as alerts show it.
func (r *Rule) String() string {
	if k := kinds[r.Kind]; k != nil {
		return k.describe(r)
	}
	return string(r.Kind)
}

// Validate checks a rule. It sets the default kind, and an id if the rule has none.
func (r *Rule) Validate() error {
	if r.Kind == "" {
		r.Kind = defaultKind
	}
	kind := kinds[r.Kind]
	if err := r.checkScope(kind); err != nil {
		return err
	}
	if err := checkSeverity(r.Severity); err != nil {
		return err
	}
	if err := checkLateMode(r.Late); err != nil {
		return err
	}
	if kind == nil {
		return varve.InvalidParam("kind", "%s is unknown: use %s", quote.Text(string(r.Kind)), param.Alternatives(slices.Sorted(maps.Keys(kinds))))
	}
	if err := kind.check(r); err != nil {
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

func (r *Rule) checkScope(kind ruleKind) error {
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
	if r.Stream == "" && r.Device == "" && kind != nil && kind.needsStreamOrDevice() {
		return varve.InvalidParam("stream", "name a stream, a device, or both")
	}
	return nil
}

// contentID returns the id of a rule's content, computed like the content id of a reading. The gap is part of
// the content only if the client gave it.
func (r *Rule) contentID() varve.ID {
	c := r.condition()
	c.Fields = append(c.Fields, varve.Field{Name: "severity", Value: varve.StringValue(string(r.Severity))})
	if r.Late != "" && r.Late != LateDigest {
		c.Fields = append(c.Fields, varve.Field{Name: "late", Value: varve.StringValue(string(r.Late))})
	}
	slices.SortFunc(c.Fields, func(a, b varve.Field) int { return strings.Compare(a.Name, b.Name) })
	return c.ContentID()
}

// condition returns a reading whose fields are the parts of the rule's condition, sorted by name.
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

// sameCondition reports whether two rules have the same condition, stream and device. Measured gaps
// are not compared.
func (r *Rule) sameCondition(q *Rule) bool {
	a, b := r.condition(), q.condition()
	return a.ContentID() == b.ContentID()
}

func (r *Rule) equalContent(q *Rule) bool { return r.contentID() == q.contentID() }

const (
	// NoGap is the gap of a rule whose episodes are never ended by a gap.
	NoGap time.Duration = -1

	leastGap = time.Second
	maxGap   = 5 * 365 * 24 * time.Hour
)

// maxSilence returns the longest time between two readings of an episode. 0 means no limit.
func (r *Rule) maxSilence() time.Duration { return max(r.Gap, 0) }
