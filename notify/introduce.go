package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// introducedKey is the key of the item with the notifiers to which open alerts were announced.
var introducedKey = store.Key{PK: "NOTIFIERS", SK: "INTRODUCED"}

// ForgetNotifiers forgets the notifiers to which open alerts were announced. A process without notifiers
// writes no outbox entries, so it calls ForgetNotifiers. The notifiers that are configured next then count
// as added.
func ForgetNotifiers(ctx context.Context, items store.Items) error {
	if err := items.Delete(ctx, introducedKey); err != nil {
		return fmt.Errorf("forget notifiers: %w", err)
	}
	return nil
}

// introduce announces all open alerts if a notifier was added, or if its route has changed. It
// compares the notifiers once after each acquisition of the lease.
//
// An announced alert gets an entry in the outbox. The sender's record of the alert names the
// notifiers that received the opening, so that only the other notifiers receive it. If the process
// dies before the notifiers are stored, the next process repeats the announcement, and no message
// is queued twice.
func (s *Sender) introduce(ctx context.Context) error {
	if s.current {
		return nil
	}
	wanted := map[string]string{}
	for i := range s.opts.Targets {
		wanted[s.opts.Targets[i].Name] = s.opts.Targets[i].Route.text()
	}
	known, err := s.introduced(ctx)
	if err != nil {
		return err
	}
	if !maps.Equal(known, wanted) {
		if err := s.announce(ctx, known, wanted); err != nil {
			return err
		}
	}
	s.current = true
	return nil
}

func (s *Sender) introduced(ctx context.Context) (map[string]string, error) {
	items, err := s.opts.Items.Get(ctx, []store.Key{introducedKey}, true)
	if err != nil {
		return nil, fmt.Errorf("read notifiers: %w", err)
	}
	known := map[string]string{}
	for i := range items {
		if err := json.Unmarshal([]byte(items[i].Attrs["data"].Text()), &known); err != nil {
			return nil, fmt.Errorf("read notifiers: %w", err)
		}
	}
	return known, nil
}

// announce announces the open alerts of all tenants if a notifier or a route is new, and stores the
// notifiers. If no notifier was known, it also announces the alerts that were reported as open and
// have been resolved since, because their outbox entries may be missing.
func (s *Sender) announce(ctx context.Context, known, wanted map[string]string) error {
	isNew := false
	for name, route := range wanted {
		before, ok := known[name]
		isNew = isNew || !ok || before != route
	}
	if isNew {
		tenants, err := s.tenants(ctx)
		if err != nil {
			return err
		}
		for _, tenant := range tenants {
			if err := s.opts.Outbox.AnnounceOpen(ctx, tenant, s.held.Check); err != nil {
				return fmt.Errorf("announce the open alerts of tenant %s: %w", tenant, err)
			}
			if len(known) > 0 {
				continue
			}
			if err := s.records.reportedOpen(ctx, tenant, s.opts.Outbox.AnnounceClosed); err != nil {
				return fmt.Errorf("announce the resolved alerts of tenant %s: %w", tenant, err)
			}
		}
	}
	if err := s.held.Check(ctx); err != nil {
		return err
	}
	data, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	return s.opts.Items.Put(ctx, store.Item{Key: introducedKey, Attrs: map[string]varve.Value{"data": varve.StringValue(string(data))}})
}

func (s *Sender) tenants(ctx context.Context) ([]string, error) {
	if s.opts.Tenants == nil {
		return []string{varve.DefaultTenant}, nil
	}
	return s.opts.Tenants(ctx)
}

// text returns a text that identifies the route: different routes have different texts.
func (r *Route) text() string {
	severities := make([]string, len(r.Severities))
	for i, s := range r.Severities {
		severities[i] = string(s)
	}
	var parts []string
	for _, list := range [][]string{severities, r.Streams, r.Rules, r.Tenants} {
		parts = append(parts, strings.Join(list, ","))
	}
	return strings.Join(parts, ";")
}
