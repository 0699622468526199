package alerts

import (
	"errors"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	alertPrefix = "ALERT#"
	// severityKind is the kind of the partitions that list alerts by severity, in the first index.
	severityKind = "ALERT_SEVERITY"
	// movedAttr is an attribute of alerts that were replaced or withdrawn. Lists exclude these
	// alerts.
	movedAttr = "movedAt"
	// alertIDLen is the length of alert ids: a time, a hyphen and a hash.
	alertIDLen = 16 + 1 + 11
	// expectedAlertAttrs is the usual number of attributes of an alert.
	expectedAlertAttrs = 15
)

func alertKey(tenant, device, id string) store.Key {
	return store.Key{PK: registry.DevicePK(tenant, device), SK: alertPrefix + id}
}

// alertIDPK returns the partition of the second index that has the alert with the given id.
func alertIDPK(tenant, id string) string { return "ALERT_ID#" + tenant + "/" + id }

// item returns the item of the alert. An alert that was replaced or withdrawn can be found only
// by its id.
func (a *Alert) item(version int64) store.Item {
	return a.itemWith(make(map[string]varve.Value, expectedAlertAttrs), version)
}

// itemWith returns the item of the alert. It puts the attributes into attrs, which must be empty.
func (a *Alert) itemWith(attrs map[string]varve.Value, version int64) store.Item {
	key := alertKey(a.Tenant, a.Device, a.ID)
	it := store.Item{Key: key, GSI2: store.Key{PK: alertIDPK(a.Tenant, a.ID), SK: key.SK}, Attrs: attrs}
	it.Attrs["version"], it.Attrs["late"] = varve.IntValue(version), varve.BoolValue(a.Late)
	if a.moved.IsZero() {
		it.GSI1 = store.Key{PK: registry.ShardPK(severityKind, a.Tenant, string(a.Severity), a.Device), SK: key.SK}
	} else {
		registry.PutTime(it.Attrs, movedAttr, a.moved)
		registry.PutText(it.Attrs, "start", positionText(a.extent.start))
		registry.PutText(it.Attrs, "opened", positionText(a.extent.opened))
	}
	registry.PutText(it.Attrs, "stream", a.Stream)
	registry.PutText(it.Attrs, "rule", a.Rule)
	registry.PutText(it.Attrs, generationAttr, a.generation)
	registry.PutText(it.Attrs, "severity", string(a.Severity))
	registry.PutText(it.Attrs, "message", a.Message)
	registry.PutText(it.Attrs, "resolvedBy", a.ResolvedBy)
	registry.PutTime(it.Attrs, "since", a.Since)
	registry.PutTime(it.Attrs, "openedAt", a.OpenedAt)
	registry.PutTime(it.Attrs, "resolvedAt", a.ResolvedAt)
	registry.PutTime(it.Attrs, "knownAt", a.KnownAt)
	s := a.remarks()
	s.put(it.Attrs, "")
	if !a.Value.IsZero() {
		it.Attrs["value"] = a.Value
	}
	return it
}

// alertOf decodes the item of an alert. It inverts Alert.item.
func alertOf(tenant string, it *store.Item) (Alert, error) {
	a := registry.NewReader(it)
	s := remarksOf(a, "")
	alert := Alert{
		Tenant: tenant, Device: strings.TrimPrefix(it.PK, registry.DevicePK(tenant, "")), ID: strings.TrimPrefix(it.SK, alertPrefix),
		Stream: a.Text("stream"), Rule: a.Text("rule"), Severity: Severity(a.Text("severity")), Message: a.Text("message"),
		Value: it.Attrs["value"], Since: a.Time("since"), OpenedAt: a.Time("openedAt"), ResolvedAt: a.Time("resolvedAt"),
		ResolvedBy: a.Text("resolvedBy"), Late: it.Attrs["late"].Bool(), Acknowledged: s.acknowledged, MutedUntil: s.mutedUntil,
		KnownAt:    a.Time("knownAt"),
		generation: a.Text(generationAttr), moved: a.Time(movedAttr),
	}
	if alert.moved.IsZero() {
		return alert, a.Err()
	}
	var errs [2]error
	alert.extent.start, errs[0] = parsePosition(a.Text("start"))
	alert.extent.opened, errs[1] = parsePosition(a.Text("opened"))
	return alert, errors.Join(a.Err(), errs[0], errs[1])
}
