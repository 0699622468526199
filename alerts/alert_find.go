package alerts

import (
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/store"
)

// Alert returns an alert. The id of one that another took the place of leads to
// that one, whose id differs. If none did, the answer is resolved as Withdrawn.
// It fails with NotFound for an id that no alert ever had.
func (m *Monitor) Alert(ctx context.Context, tenant, id string) (Alert, error) {
	a, _, err := m.findAlert(ctx, tenant, id)
	return a, err
}

// findAlert is Alert, and returns the version of what it found.
func (m *Monitor) findAlert(ctx context.Context, tenant, id string) (Alert, varve.Value, error) {
	if len(id) != alertIDLen {
		return Alert{}, varve.Value{}, noAlert(id)
	}
	page, err := m.opts.Items.Query(ctx, store.ItemQuery{Index: store.GSI2, PK: alertIDPK(tenant, id), Limit: 1})
	if err != nil {
		return Alert{}, varve.Value{}, fmt.Errorf("find alert %s: %w", id, err)
	}
	if len(page.Items) == 0 {
		return Alert{}, varve.Value{}, noAlert(id)
	}
	items, err := m.opts.Items.Get(ctx, []store.Key{page.Items[0].Key}, true)
	if err != nil {
		return Alert{}, varve.Value{}, fmt.Errorf("read alert %s: %w", id, err)
	}
	if len(items) == 0 {
		return Alert{}, varve.Value{}, noAlert(id)
	}
	a, err := alertOf(tenant, &items[0])
	if err != nil || a.moved.IsZero() {
		return a, items[0].Attrs["version"], err
	}
	return m.successor(ctx, &a)
}

func noAlert(id string) error {
	return varve.Errorf(varve.NotFound, "there is no alert %s", quote.Text(id))
}

// successor returns the alert of the episode to which the readings of an alert
// belong that has moved: the one that has its first reading, or else the first
// that has another of those up to the one that raised it.
func (m *Monitor) successor(ctx context.Context, old *Alert) (Alert, varve.Value, error) {
	rule := &Rule{Tenant: old.Tenant, ID: old.Rule, incarnation: old.incarnation}
	s := varve.Series{Tenant: old.Tenant, Stream: old.Stream, Device: old.Device}
	for range 2 { // once more, in case that it was changed in between
		runs, err := m.episodesIn(ctx, rule, s, old.extent)
		if err != nil {
			return Alert{}, varve.Value{}, err
		}
		for i := range runs {
			a, version, err := m.alert(ctx, s.Tenant, s.Device, alertID(rule, s, runs[i].start))
			if err != nil || a != nil && a.moved.IsZero() {
				return deref(a), version, err
			}
		}
	}
	gone := *old
	gone.ResolvedAt, gone.ResolvedBy = old.moved, Withdrawn
	return gone, varve.Value{}, nil
}

func deref(a *Alert) Alert {
	if a == nil {
		return Alert{}
	}
	return *a
}

// mostMoving is more episodes than those around one position that a process can
// be in the midst of changing.
const mostMoving = 8

// episodesIn returns the recorded episodes that share readings with an extent:
// those that have its first reading, the one that begins last first, and then
// those that begin behind it.
func (m *Monitor) episodesIn(ctx context.Context, rule *Rule, s varve.Series, e extent) ([]run, error) {
	runs, err := m.notes(ctx, rule, s, "", behind(e.start), varve.Descending, mostMoving)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r run) bool { return !r.covers(e.start) })
	if e.opened == e.start {
		return runs, nil
	}
	later, err := m.notes(ctx, rule, s, behind(e.start), behind(e.opened), varve.Ascending, mostMoving)
	return append(runs, later...), err
}

// alert returns an alert and its version; nil if there is none.
func (m *Monitor) alert(ctx context.Context, tenant, device, id string) (*Alert, varve.Value, error) {
	items, err := m.opts.Items.Get(ctx, []store.Key{alertKey(tenant, device, id)}, true)
	if err != nil || len(items) == 0 {
		return nil, varve.Value{}, err
	}
	a, err := alertOf(tenant, &items[0])
	return &a, items[0].Attrs["version"], err
}
