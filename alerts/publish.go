package alerts

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// publishers is how many episodes are published at a time where each takes
// writes of its own.
const publishers = 16

// publishEach publishes new episodes that share no time with others, each by
// itself, some at a time.
func (e *evaluation) publishEach(ctx context.Context, runs []run) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(publishers)
	for i := range runs {
		r := &runs[i]
		g.Go(func() error {
			if err := e.record(ctx, r, false); err != nil {
				return err
			}
			if err := e.raise(ctx, r); err != nil {
				return err
			}
			return e.record(ctx, r, true)
		})
	}
	return g.Wait()
}

// changedAtOnce is how many episodes one write changes at the most.
const changedAtOnce = 2000

// writeAtOnce is write for a registry that carries out many writes as one: each
// episode is written with its alert, and with all others if these are not too
// many.
func (e *evaluation) writeAtOnce(ctx context.Context, differ, gone []run) error {
	stored, err := e.alertsOf(ctx, differ, gone)
	if err != nil {
		return err
	}
	if len(differ)+len(gone) > changedAtOnce {
		return e.writeParts(ctx, stored, differ, gone)
	}
	for i := range differ {
		differ[i].told = true
	}
	return e.apply(ctx, append(e.raises(stored, differ), e.deletions(stored, gone)...))
}

// writeParts is writeAtOnce in several writes, in the order of write. An episode
// that takes the place of others is published after they are deleted. Otherwise a
// failure in between would leave them, and a retry would find nothing to change.
func (e *evaluation) writeParts(ctx context.Context, stored storedAlerts, differ, gone []run) error {
	replaced := timelineOf(gone...)
	for i := range differ {
		differ[i].told = len(replaced.sharing(&differ[i])) == 0
	}
	for part := range slices.Chunk(differ, changedAtOnce) {
		if err := e.apply(ctx, e.raises(stored, part)); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(gone, changedAtOnce) {
		if err := e.apply(ctx, e.deletions(stored, part)); err != nil {
			return err
		}
	}
	unpublished := slices.DeleteFunc(slices.Clone(differ), func(r run) bool { return r.told })
	for part := range slices.Chunk(unpublished, changedAtOnce) {
		var changes []store.Change
		for i := range part {
			part[i].told = true
			changes = append(changes, e.putRecord(&part[i]))
		}
		if err := e.apply(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

// raises returns the writes of episodes, and of their alerts.
func (e *evaluation) raises(stored storedAlerts, runs []run) []store.Change {
	changes := make([]store.Change, 0, 2*len(runs))
	for i := range runs {
		r := &runs[i]
		for _, k := range e.known.sharing(r) {
			r.inherit(k, stored.of(e, k))
		}
		changes = append(changes, e.putRecord(r), stored.raise(e, r))
	}
	return changes
}

// deletions returns the writes that delete episodes and withdraw their alerts.
func (e *evaluation) deletions(stored storedAlerts, runs []run) (changes []store.Change) {
	for i := range runs {
		r := &runs[i]
		changes = append(changes, store.Change{
			Item: store.Item{Key: r.key(e.rule, e.series)}, Delete: true, Conds: []store.Cond{store.IfEquals("version", r.version)},
		})
		changes = append(changes, stored.withdraw(e, r)...)
	}
	return changes
}

// putRecord returns the write of an episode over its version, and sets the next.
func (e *evaluation) putRecord(r *run) store.Change {
	c := e.put(r.item(e.rule, e.series), r.version)
	r.version = c.Item.Attrs["version"]
	return c
}

// put returns the write of an item over its version; zero if it is new.
func (e *evaluation) put(it store.Item, version varve.Value) store.Change {
	cond := store.IfAbsent()
	if !version.IsZero() {
		cond = store.IfEquals("version", version)
	}
	return store.Change{Item: it, Conds: []store.Cond{cond}}
}

func (e *evaluation) apply(ctx context.Context, changes []store.Change) error {
	if err := e.m.atomic.Apply(ctx, changes); err != nil {
		return fmt.Errorf("write alerts of rule %s: %w", e.rule.ID, err)
	}
	return nil
}

// storedAlerts is alerts as they were read, by their ids.
type storedAlerts map[string]storedAlert

type storedAlert struct {
	Alert
	version varve.Value
}

// alertsOf reads the alerts of episodes that are to be written, and of those that
// they share time with. Those of new episodes that share none are taken to be
// missing, unless a try before has shown otherwise.
func (e *evaluation) alertsOf(ctx context.Context, differ, gone []run) (storedAlerts, error) {
	ids := map[string]bool{}
	add := func(r *run) { ids[alertID(e.rule, e.series, r.start)] = true }
	for i := range differ {
		r := &differ[i]
		sharing := e.known.sharing(r)
		for _, k := range sharing {
			add(k)
		}
		if len(sharing) > 0 || !r.version.IsZero() || e.lost[r.start] {
			add(r)
		}
	}
	for i := range gone {
		add(&gone[i])
	}
	keys := make([]store.Key, 0, len(ids))
	for id := range ids {
		keys = append(keys, alertKey(e.series.Tenant, e.series.Device, id))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	items, err := e.m.opts.Items.Get(ctx, keys, true)
	if err != nil {
		return nil, fmt.Errorf("read alerts of rule %s: %w", e.rule.ID, err)
	}
	all := storedAlerts{}
	for i := range items {
		a, err := alertOf(e.series.Tenant, &items[i])
		if err != nil {
			return nil, err
		}
		all[a.ID] = storedAlert{a, items[i].Attrs["version"]}
	}
	return all, nil
}

// of returns the alert of an episode; nil if there is none.
func (s storedAlerts) of(e *evaluation, r *run) *Alert {
	if a, ok := s[alertID(e.rule, e.series, r.start)]; ok {
		return &a.Alert
	}
	return nil
}

// raise returns the write of an episode's alert.
func (s storedAlerts) raise(e *evaluation, r *run) store.Change {
	a := e.alert(r)
	old, ok := s[a.ID]
	if ok {
		a = old.changed(a)
	}
	return e.put(a.item(registry.Int(old.version)+1), old.version)
}

// withdraw returns the write by which an episode's alert has moved, if there is
// one.
func (s storedAlerts) withdraw(e *evaluation, r *run) []store.Change {
	old, ok := s[alertID(e.rule, e.series, r.start)]
	if !ok || !old.moved.IsZero() {
		return nil
	}
	old.move(e.m.now(), e.rule.incarnation, extent{start: r.start, opened: r.opened})
	return []store.Change{e.put(old.item(registry.Int(old.version)+1), old.version)}
}
