package alerts_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// TestMute_RefusesYear10000 checks that a mute with an end after the year 9999 in UTC is refused. Such a time
// could be stored, but not read.
func TestMute_RefusesYear10000(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	hot := above(5, 0)
	hot.ID = "hot"
	w.rule(hot)
	w.send(valued(0, 9))
	until := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
	_, err := w.MuteRule(ctx, tenant, "hot", until)
	invalid(t, err, "until", "year 9999")
	_, err = w.MuteAlert(ctx, tenant, w.alerts(alerts.AlertList{})[0].ID, until)
	invalid(t, err, "until", "year 9999")
	_, err = w.MuteRule(ctx, tenant, "hot", until.Add(-time.Hour))
	must(t, err)
}

// TestRules_RecoverFromYear10000 reads and unmutes a rule whose mute ends in the year 10000. Earlier versions
// stored such ends. Both calls must succeed.
func TestRules_RecoverFromYear10000(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	hot := above(5, 0)
	hot.ID = "hot"
	w.rule(hot)
	items, err := w.items.Get(ctx, []store.Key{{PK: registry.TenantPK(tenant), SK: "RULE#hot"}}, true)
	must(t, err)
	items[0].Attrs["mutedUntil"] = varve.StringValue("10000-01-01T00:59:59.000000000Z")
	must(t, w.items.Put(ctx, items[0]))
	r, err := w.Rule(ctx, tenant, "hot")
	if want := "9999-12-31T00:59:59Z"; err != nil || r.MutedUntil.Format(time.RFC3339) != want {
		t.Fatalf("muted until %s, %v, want %s", r.MutedUntil, err, want)
	}
	r, err = w.MuteRule(ctx, tenant, "hot", time.Time{})
	if err != nil || !r.MutedUntil.IsZero() {
		t.Errorf("after the end of the mute: %s, %v", r.MutedUntil, err)
	}
}
