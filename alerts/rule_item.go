package alerts

import (
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	rulePrefix = "RULE#"
	// generationAttr is the attribute of rules and alerts for the generation.
	generationAttr = "incarnation"
	// deadmanPK is the partition of the first index that lists the rules that are evaluated every
	// minute. It has the rules of all tenants.
	deadmanPK = "DEADMAN_RULES"
	// retiredPK is the partition of the second index that lists rules with ended generations. The
	// open alerts of these generations must be resolved.
	retiredPK = "RETIRED_RULES"
)

func ruleKey(tenant, id string) store.Key {
	return store.Key{PK: registry.TenantPK(tenant), SK: rulePrefix + id}
}

// item returns the item of the rule in its next version.
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
	registry.PutText(it.Attrs, "late", string(r.Late))
	registry.PutText(it.Attrs, generationAttr, r.generation)
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
	if r.byClock() != nil && r.deletedAt.IsZero() {
		it.GSI1 = store.Key{PK: deadmanPK, SK: r.Tenant + "/" + r.ID}
	}
	if r.retired != "" {
		it.GSI2 = store.Key{PK: retiredPK, SK: r.Tenant + "/" + r.ID}
	}
	return it
}

// ruleOf decodes the item of a rule. It inverts Rule.item.
func ruleOf(it *store.Item) (Rule, error) {
	a := registry.NewReader(it)
	r := Rule{
		Tenant: a.Text("tenant"), ID: it.SK[len(rulePrefix):], Kind: Kind(a.Text("kind")), Stream: a.Text("stream"), Device: a.Text("device"),
		Field: a.Text("field"), Comparison: Comparison(a.Text("comparison")), Threshold: it.Attrs["threshold"],
		For: time.Duration(registry.Int(it.Attrs["for"])) * time.Millisecond, Severity: Severity(a.Text("severity")), Late: LateMode(a.Text("late")), CreatedAt: a.Time("createdAt"),
		UpdatedAt: a.Time("updatedAt"), MutedUntil: a.Time("mutedUntil"), GapMeasured: it.Attrs["gapMeasured"].Bool(),
		generation: a.Text(generationAttr), deletedAt: a.Time("deletedAt"), version: registry.Int(it.Attrs["version"]), retired: a.Text("retired"),
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
		err = errors.New("not a rule: kind is missing")
	}
	if err != nil {
		err = fmt.Errorf("item %s %s: %w", it.PK, it.SK, err)
	}
	return r, err
}

// unchanged returns the condition that the stored rule has not changed since it was read.
func (r *Rule) unchanged() store.Cond {
	if r.version == 0 { // the item is from an older version of Varve
		return store.IfEquals(generationAttr, varve.StringValue(r.generation))
	}
	return store.IfEquals("version", varve.IntValue(r.version))
}
