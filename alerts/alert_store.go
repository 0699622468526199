package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// alertStore stores alerts. Each write requires that the stored version is the one that was read.
// If another process has changed the alert, it is reread and the write is retried.
type alertStore struct {
	items   store.Items
	records recordStore
	time    func() time.Time // returns the time to the millisecond
	outbox  *outbox          // nil if changes of alerts are not delivered
}

// storedAlerts maps ids to alerts, as they were read.
type storedAlerts map[string]storedAlert

type storedAlert struct {
	Alert
	version varve.Value
}

func (s storedAlerts) alert(id string) *Alert {
	if a, ok := s[id]; ok {
		return &a.Alert
	}
	return nil
}

// get returns an alert and its version, or nil if it is missing.
func (s *alertStore) get(ctx context.Context, tenant, device, id string) (*Alert, varve.Value, error) {
	items, err := s.items.Get(ctx, []store.Key{alertKey(tenant, device, id)}, true)
	if err != nil || len(items) == 0 {
		return nil, varve.Value{}, err
	}
	a, err := alertOf(tenant, &items[0])
	return &a, items[0].Attrs["version"], err
}

func (s *alertStore) getAll(ctx context.Context, tenant, device string, ids map[string]bool) (storedAlerts, error) {
	keys := make([]store.Key, 0, len(ids))
	for id := range ids {
		keys = append(keys, alertKey(tenant, device, id))
	}
	items, err := s.items.Get(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	all := storedAlerts{}
	for i := range items {
		a, err := alertOf(tenant, &items[i])
		if err != nil {
			return nil, err
		}
		all[a.ID] = storedAlert{a, items[i].Attrs["version"]}
	}
	return all, nil
}

// find returns the alert to which an id leads, and its version. It fails with NotFound if no alert
// with the id is stored.
func (s *alertStore) find(ctx context.Context, tenant, id string) (Alert, varve.Value, error) {
	if len(id) != alertIDLen {
		return Alert{}, varve.Value{}, alertNotFound(id)
	}
	page, err := s.items.Query(ctx, store.ItemQuery{Index: store.GSI2, PK: alertIDPK(tenant, id), Limit: 1})
	if err != nil {
		return Alert{}, varve.Value{}, fmt.Errorf("find alert %s: %w", id, err)
	}
	if len(page.Items) == 0 {
		return Alert{}, varve.Value{}, alertNotFound(id)
	}
	items, err := s.items.Get(ctx, []store.Key{page.Items[0].Key}, true)
	if err != nil {
		return Alert{}, varve.Value{}, fmt.Errorf("read alert %s: %w", id, err)
	}
	if len(items) == 0 {
		return Alert{}, varve.Value{}, alertNotFound(id)
	}
	a, err := alertOf(tenant, &items[0])
	if err != nil || a.moved.IsZero() {
		return a, items[0].Attrs["version"], err
	}
	return s.successor(ctx, &a)
}

func alertNotFound(id string) error {
	return varve.Errorf(varve.NotFound, "alert %s: not found: GET /v1/alerts lists all alerts", quote.Text(id))
}

// successor returns the alert that replaced an old one. This is the alert of the episode that contains
// the first reading of the old alert. Otherwise, it returns the alert of the first episode that begins
// after this reading, but not after the reading that opened the old alert. If the old alert has no
// successor, successor returns it with Withdrawn as the reason for its resolution.
func (s *alertStore) successor(ctx context.Context, old *Alert) (Alert, varve.Value, error) {
	rule := &Rule{Tenant: old.Tenant, ID: old.Rule, generation: old.generation}
	of := subjectOf(rule, varve.Series{Tenant: old.Tenant, Stream: old.Stream, Device: old.Device})
	for range 2 { // twice: between reading the episodes and the alerts, another process may replace both
		episodes, err := s.episodesIn(ctx, &of, old.extent)
		if err != nil {
			return Alert{}, varve.Value{}, err
		}
		for i := range episodes {
			a, version, err := s.get(ctx, old.Tenant, old.Device, of.alertID(episodes[i].start))
			if err != nil {
				return Alert{}, varve.Value{}, err
			}
			if a != nil && a.moved.IsZero() {
				return *a, version, nil
			}
		}
	}
	gone := *old
	gone.ResolvedAt, gone.ResolvedBy = old.moved, Withdrawn
	return gone, varve.Value{}, nil
}

// maxNearby limits the episodes that are read on each side of a position. Recorded episodes overlap
// only after an interruption, so a few are enough.
const maxNearby = 8

// episodesIn returns the recorded episodes that share readings with an extent. Episodes that
// contain the first reading of the extent are first, in descending order. Episodes that begin
// after that reading follow.
func (s *alertStore) episodesIn(ctx context.Context, of *subject, x extent) ([]episode, error) {
	first, err := s.records.load(ctx, of, keyRange{to: keyAfter(x.start), order: varve.Descending, limit: maxNearby})
	if err != nil {
		return nil, err
	}
	first = slices.DeleteFunc(first, func(e episode) bool { return !e.covers(x.start) })
	if x.opened == x.start {
		return first, nil
	}
	later, err := s.records.load(ctx, of, keyRange{from: keyAfter(x.start), to: keyAfter(x.opened), limit: maxNearby})
	return append(first, later...), err
}

// change applies the function edit to the alert to which an id leads. It stores and returns the
// alert. If edit returns false, or if the alert is withdrawn, nothing is written.
func (s *alertStore) change(ctx context.Context, tenant, id string, edit func(*Alert) bool) (Alert, error) {
	for {
		a, version, err := s.find(ctx, tenant, id)
		old := a
		if err != nil || a.ResolvedBy == Withdrawn || !edit(&a) {
			return a, err
		}
		if done, err := s.put(ctx, &old, &a, version); err != nil {
			return a, fmt.Errorf("write alert %s: %w", a.ID, err)
		} else if done {
			return a, nil
		}
	}
}

// put writes the next version of an alert, if the stored version has not changed. It reports
// whether the alert was written. The argument "old" is nil for a new alert. If the change is to be
// delivered, put writes its outbox entry first.
func (s *alertStore) put(ctx context.Context, old, a *Alert, version varve.Value) (bool, error) {
	cond := store.IfAbsent()
	if old != nil {
		cond = store.IfEquals("version", version)
	}
	if s.outbox.concerns(old, a) {
		if err := s.outbox.announce(ctx, a, registry.Int(version)+1); err != nil {
			return false, err
		}
	}
	err := s.items.Put(ctx, a.item(registry.Int(version)+1), cond)
	if errors.Is(err, store.ErrCondition) {
		return false, nil
	}
	return err == nil, err
}

// upsert writes an alert that was computed from readings. If the alert is stored already,
// Alert.updated combines the two.
func (s *alertStore) upsert(ctx context.Context, a Alert) error {
	for {
		old, version, err := s.get(ctx, a.Tenant, a.Device, a.ID)
		if err != nil {
			return err
		}
		next := a
		if next.KnownAt = s.time(); old != nil {
			next = old.updated(a)
		}
		if done, err := s.put(ctx, old, &next, version); done || err != nil {
			return err
		}
	}
}

// withdraw marks the alert of an episode as withdrawn, unless it is missing or marked already.
func (s *alertStore) withdraw(ctx context.Context, of *subject, e *episode) error {
	id := of.alertID(e.start)
	for {
		a, version, err := s.get(ctx, of.series.Tenant, of.series.Device, id)
		done := a == nil || !a.moved.IsZero()
		if err == nil && !done {
			old := *a
			a.move(s.time(), of.rule.generation, e.extent())
			done, err = s.put(ctx, &old, a, version)
		}
		if err != nil {
			return fmt.Errorf("withdraw alert %s: %w", id, err)
		}
		if done {
			return nil
		}
	}
}

// resolve resolves a listed alert, unless it was resolved, replaced or withdrawn in the meantime.
func (s *alertStore) resolve(ctx context.Context, listed *Alert, by string) error {
	for {
		a, version, err := s.get(ctx, listed.Tenant, listed.Device, listed.ID)
		if err != nil || a == nil || !a.moved.IsZero() || !a.Open() {
			return err
		}
		old := *a
		a.resolve(by, s.time())
		if done, err := s.put(ctx, &old, a, version); done || err != nil {
			return err
		}
	}
}
