package alerts

import (
	"fmt"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// subject is a rule and a series. Episodes and their alerts belong to a subject.
type subject struct {
	rule    *Rule
	series  varve.Series
	message string // message of the alerts

	// The following fields are computed from rule and series.
	ruleName     string
	devicePK     string // partition key of the device's items
	recordPrefix string // prefix of the sort keys of the records
}

func subjectOf(rule *Rule, s varve.Series) subject {
	name := rule.name()
	return subject{
		rule: rule, series: s, message: rule.String(),
		ruleName: name, devicePK: registry.DevicePK(s.Tenant, s.Device), recordPrefix: "RUN#" + name + "/" + s.Stream + "#",
	}
}

// alertID returns the id of an episode's alert. It is computed from the rule, the series
// and the reading at which the condition began to hold.
func (s *subject) alertID(start varve.Position) string {
	r := varve.Reading{Fields: []varve.Field{ // sorted by name
		{Name: "device", Value: varve.StringValue(s.series.Device)},
		{Name: "id", Value: varve.StringValue(start.ID.Key())},
		{Name: "rule", Value: varve.StringValue(s.ruleName)},
		{Name: "stream", Value: varve.StringValue(s.series.Stream)},
	}}
	var id [alertIDLen]byte
	return string(r.ContentID().Append(append(appendHexTime(id[:0], start.Time), '-')))
}

// alert returns the alert of an episode. If it was resolved by hand, it stays resolved.
func (s *subject) alert(e *episode) Alert {
	a := Alert{
		Tenant: s.series.Tenant, Device: s.series.Device, Stream: s.series.Stream,
		ID: s.alertID(e.start), Rule: s.rule.ID, Severity: s.rule.Severity, Message: s.message,
		Value: e.opening.value, Since: instant(e.start), OpenedAt: instant(e.opened), Late: e.opening.late,
		Acknowledged: e.remarks.acknowledged, MutedUntil: e.remarks.mutedUntil, generation: s.rule.generation,
	}
	switch {
	case !e.remarks.resolved.IsZero():
		a.ResolvedAt, a.ResolvedBy = e.remarks.resolved, ByHand
	case e.byGap:
		a.ResolvedAt, a.ResolvedBy = e.resolvedAt(), ByGap
	case e.end != nil:
		a.ResolvedAt, a.ResolvedBy = e.resolvedAt(), ByCondition
	}
	return a
}

func (s *subject) recordKey(start varve.Position) store.Key {
	var at [positionLen]byte
	return store.Key{PK: s.devicePK, SK: s.recordPrefix + string(appendPosition(at[:0], start))}
}

// recordItem returns the record of an episode in its next version. It puts the attributes into
// attrs, which must be empty.
func (s *subject) recordItem(attrs map[string]varve.Value, e *episode) store.Item {
	it := store.Item{Key: s.recordKey(e.start), Attrs: attrs}
	it.Attrs["version"] = varve.IntValue(registry.Int(e.version) + 1)
	registry.PutText(it.Attrs, "opened", positionText(e.opened))
	if e.end != nil {
		registry.PutText(it.Attrs, "end", positionText(*e.end))
	}
	if e.published {
		it.Attrs["told"] = varve.BoolValue(true)
	}
	if e.opening.late {
		it.Attrs["late"] = varve.BoolValue(true)
	}
	if !e.opening.value.IsZero() {
		it.Attrs["value"] = e.opening.value
	}
	if e.byGap {
		it.Attrs["silent"] = varve.BoolValue(true)
	}
	e.remarks.put(it.Attrs, "byHand")
	return it
}

// episodeOf decodes the record of an episode. The sort key of the record begins with the given
// prefix.
func episodeOf(it *store.Item, prefix string) (e episode, err error) {
	if e.start, err = parsePosition(strings.TrimPrefix(it.SK, prefix)); err == nil {
		e.opened, err = parsePosition(it.Attrs["opened"].Text())
	}
	if text := it.Attrs["end"].Text(); text != "" && err == nil {
		var end varve.Position
		end, err = parsePosition(text)
		e.end = &end
	}
	if err != nil {
		return e, fmt.Errorf("item %s %s: %w", it.PK, it.SK, err)
	}
	a := registry.NewReader(it)
	e.remarks, e.byGap = remarksOf(a, "byHand"), it.Attrs["silent"].Bool()
	e.version, e.published = it.Attrs["version"], it.Attrs["told"].Bool()
	e.opening = opening{value: it.Attrs["value"], late: it.Attrs["late"].Bool()}
	return e, a.Err()
}
