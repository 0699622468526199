package alerts

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const rulePrefix = "RULE#"

func ruleKey(tenant, id string) store.Key {
	return store.Key{PK: registry.TenantPK(tenant), SK: rulePrefix + id}
}

const (
	// deadmanPK is the partition of the first index in which the deadman rules of
	// all tenants lie, for the worker that looks after them.
	deadmanPK = "DEADMAN_RULES"
	// retiredPK is the partition of the second index in which the rules lie that
	// have retirements.
	retiredPK = "RETIRED_RULES"
)

// item returns the rule as it is stored, in its next version.
func (r *Rule) item() store.Item {
	it := store.Item{Key: ruleKey(r.Tenant, r.ID), Attrs: map[string]varve.Value{
		"for": varve.IntValue(int64(r.For / time.Millisecond)), "version": varve.IntValue(r.version + 1),
	}}
	registry.PutText(it.Attrs, "tenant", r.Tenant)
	registry.PutText(it.Attrs, "kind", string(r.Kind))
	registry.PutText(it.Attrs, "stream", r.Stream)
	registry.PutText(it.Attrs, "device", r.Device)
	registry.PutText(it.Attrs, "field", r.Field)
	registry.PutText(it.Attrs, "comparison", string(r.Comparison))
	registry.PutText(it.Attrs, "severity", string(r.Severity))
	registry.PutText(it.Attrs, "incarnation", r.incarnation)
	registry.PutText(it.Attrs, "retired", r.retired)
	registry.PutTime(it.Attrs, "createdAt", r.CreatedAt)
	registry.PutTime(it.Attrs, "updatedAt", r.UpdatedAt)
	registry.PutTime(it.Attrs, "mutedUntil", r.MutedUntil)
	registry.PutTime(it.Attrs, "deletedAt", r.deletedAt)
	if !r.Threshold.IsZero() {
		it.Attrs["threshold"] = r.Threshold
	}
	if r.Gap > 0 {
		it.Attrs["gap"] = varve.IntValue(int64(r.Gap / time.Millisecond))
	} else if r.Gap == NoGap {
		it.Attrs["gap"] = varve.StringValue("none")
	}
	if r.GapMeasured {
		it.Attrs["gapMeasured"] = varve.BoolValue(true)
	}
	if r.Kind == Deadman && r.deletedAt.IsZero() {
		it.GSI1 = store.Key{PK: deadmanPK, SK: r.Tenant + "/" + r.ID}
	}
	if r.retired != "" {
		it.GSI2 = store.Key{PK: retiredPK, SK: r.Tenant + "/" + r.ID}
	}
	return it
}

func ruleOf(it *store.Item) (Rule, error) {
	a := registry.NewReader(it)
	r := Rule{
		Tenant: a.Text("tenant"), ID: it.SK[len(rulePrefix):], Kind: Kind(a.Text("kind")), Stream: a.Text("stream"), Device: a.Text("device"),
		Field: a.Text("field"), Comparison: Comparison(a.Text("comparison")), Threshold: it.Attrs["threshold"],
		For: time.Duration(registry.Int(it.Attrs["for"])) * time.Millisecond, Severity: Severity(a.Text("severity")), CreatedAt: a.Time("createdAt"),
		UpdatedAt: a.Time("updatedAt"), MutedUntil: a.Time("mutedUntil"), GapMeasured: it.Attrs["gapMeasured"].Bool(),
		incarnation: a.Text("incarnation"), deletedAt: a.Time("deletedAt"), version: registry.Int(it.Attrs["version"]), retired: a.Text("retired"),
	}
	if a.Text("gap") == "none" {
		r.Gap = NoGap
	} else {
		r.Gap = time.Duration(registry.Int(it.Attrs["gap"])) * time.Millisecond
	}
	_, err := parseRetirements(r.retired)
	if err == nil {
		err = a.Err()
	}
	if err == nil && r.Kind == "" {
		err = errors.New("it is not a rule")
	}
	if err != nil {
		err = fmt.Errorf("item %s %s: %w", it.PK, it.SK, err)
	}
	return r, err
}

// unchanged is the condition that a rule is stored as it was read.
func (r *Rule) unchanged() store.Cond {
	if r.version == 0 { // it was written before rules had versions
		return store.IfEquals("incarnation", varve.StringValue(r.incarnation))
	}
	return store.IfEquals("version", varve.IntValue(r.version))
}

// retirement is alerts of a rule that are still to be resolved: of one that was
// deleted, or whose condition is another one now.
type retirement struct {
	incarnation string
	reason      string // ByRuleDeleted or ByRuleChanged
	at          time.Time
	passed      bool // all that were listed are resolved, once
}

// retire adds a retirement of what the rule was until now.
func (r *Rule) retire(incarnation, reason string, at time.Time) {
	list, _ := parseRetirements(r.retired) // it was parsed when it was read
	r.retired = retirementsText(append(list, retirement{incarnation: incarnation, reason: reason, at: at}))
}

func retirementsText(list []retirement) string {
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = fmt.Sprintf("%s %s %s %t", r.incarnation, r.reason, registry.TimeText(r.at), r.passed)
	}
	return strings.Join(lines, "\n")
}

func parseRetirements(text string) (list []retirement, err error) {
	for line := range strings.Lines(text) {
		var r retirement
		var at string
		if _, err := fmt.Sscanf(line, "%s %s %s %t", &r.incarnation, &r.reason, &at, &r.passed); err != nil {
			return nil, fmt.Errorf("retired: %w", err)
		}
		if r.at, err = registry.ParseTime(at); err != nil {
			return nil, fmt.Errorf("retired: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
}
