package alerts

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// maxChanges is the maximum number of episodes that one atomic write changes.
const maxChanges = 2000

// atomicWriter applies plans to a registry that executes many writes as one. One write has up to
// maxChanges episodes, each with its alert.
type atomicWriter struct {
	*subject
	*stores
	recorded  *timeline
	contested map[varve.Position]bool // starts of episodes that another process has changed since they were read
}

func (w *atomicWriter) apply(ctx context.Context, p plan) error {
	current, err := w.readAlerts(ctx, p)
	if err != nil {
		return err
	}
	if len(p.write)+len(p.remove) > maxChanges {
		return w.applyParts(ctx, current, p)
	}
	for i := range p.write {
		p.write[i].published = true
	}
	return w.commit(ctx, append(w.upserts(current, p.write), w.removals(current, p.remove)...))
}

// applyParts executes a plan in several writes, in the order of stepWriter.apply. An episode that
// replaces other episodes is published only after these are removed. If it were published earlier, a
// failure would leave the replaced episodes, and a retry would not notice them.
func (w *atomicWriter) applyParts(ctx context.Context, current storedAlerts, p plan) error {
	replaced := timelineOf(p.remove...)
	for i := range p.write {
		p.write[i].published = len(replaced.overlapping(&p.write[i])) == 0
	}
	for part := range slices.Chunk(p.write, maxChanges) {
		if err := w.commit(ctx, w.upserts(current, part)); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(p.remove, maxChanges) {
		if err := w.commit(ctx, w.removals(current, part)); err != nil {
			return err
		}
	}
	unpublished := slices.DeleteFunc(slices.Clone(p.write), func(e episode) bool { return e.published })
	for part := range slices.Chunk(unpublished, maxChanges) {
		var changes []store.Change
		for i := range part {
			part[i].published = true
			changes = append(changes, w.putRecord(&part[i]))
		}
		if err := w.commit(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

// upserts returns the writes of episodes and of their alerts. A plan has the latest new episode
// first. upserts reverses the order, because stores write ascending keys faster.
func (w *atomicWriter) upserts(current storedAlerts, episodes []episode) []store.Change {
	n := len(episodes)
	changes := make([]store.Change, 2*n, w.alerts.outbox.room(2*n, n))
	now := w.alerts.time()
	for i := range episodes {
		e := &episodes[i]
		for _, k := range w.recorded.overlapping(e) {
			e.inherit(k, current.alert(w.alertID(k.start)))
		}
		a := w.alert(e)
		a.KnownAt = now
		old, version := current.alert(a.ID), current[a.ID].version
		if old != nil {
			a = old.updated(a)
		}
		changes[n-1-i], changes[2*n-1-i] = putOver(a.itemWith(newAttrs(), registry.Int(version)+1), version), w.putRecord(e)
		if w.alerts.outbox.concerns(old, &a) {
			changes = append(changes, w.alerts.outbox.entry(newAttrs(), &a, registry.Int(version)+1))
		}
	}
	return changes
}

// removals returns the writes that delete the records of episodes and withdraw their alerts.
func (w *atomicWriter) removals(current storedAlerts, episodes []episode) (changes []store.Change) {
	for i := range episodes {
		e := &episodes[i]
		changes = append(changes, store.Change{
			Item: store.Item{Key: w.recordKey(e.start)}, Delete: true, Conds: []store.Cond{store.IfEquals("version", e.version)},
		})
		if a, ok := current[w.alertID(e.start)]; ok && a.moved.IsZero() {
			old := a.Alert
			a.move(w.alerts.time(), w.rule.generation, e.extent())
			changes = append(changes, putOver(a.item(registry.Int(a.version)+1), a.version))
			if w.alerts.outbox.concerns(&old, &a.Alert) {
				changes = append(changes, w.alerts.outbox.entry(newAttrs(), &a.Alert, registry.Int(a.version)+1))
			}
		}
	}
	return changes
}

// putRecord returns the write that replaces the known version of a record, and sets the version of
// the episode to the new one.
func (w *atomicWriter) putRecord(e *episode) store.Change {
	c := putOver(w.recordItem(newAttrs(), e), e.version)
	e.version = c.Item.Attrs["version"]
	return c
}

// putOver returns the write of an item on the condition that the stored version is the given one.
// The zero version means that the item must be new.
func putOver(it store.Item, version varve.Value) store.Change {
	if version.IsZero() {
		return store.Change{Item: it, Conds: ifAbsent}
	}
	return store.Change{Item: it, Conds: []store.Cond{store.IfEquals("version", version)}}
}

// attrMaps has empty maps for the attributes of items. They are reused, because a bulk upload needs
// thousands of them.
var attrMaps = sync.Pool{New: func() any { return make(map[string]varve.Value, expectedAlertAttrs) }}

func newAttrs() map[string]varve.Value { return attrMaps.Get().(map[string]varve.Value) }

// releaseAttrs puts the attributes of executed changes back into the pool.
func releaseAttrs(changes []store.Change) {
	for i := range changes {
		if attrs := changes[i].Item.Attrs; attrs != nil {
			clear(attrs)
			attrMaps.Put(attrs)
		}
	}
}

// ifAbsent is the condition of all writes of new items.
var ifAbsent = []store.Cond{store.IfAbsent()}

func (w *atomicWriter) commit(ctx context.Context, changes []store.Change) error {
	err := w.atomic.Apply(ctx, changes)
	releaseAttrs(changes)
	if err != nil {
		return fmt.Errorf("write alerts of rule %s: %w", w.rule.ID, err)
	}
	return nil
}

// readAlerts reads the alerts of a plan's episodes, and of recorded episodes that overlap them. A
// new episode without overlap has no alert yet, unless another process changed the episode meanwhile.
func (w *atomicWriter) readAlerts(ctx context.Context, p plan) (storedAlerts, error) {
	ids := map[string]bool{}
	add := func(e *episode) { ids[w.alertID(e.start)] = true }
	for i := range p.write {
		e := &p.write[i]
		overlapping := w.recorded.overlapping(e)
		for _, k := range overlapping {
			add(k)
		}
		if len(overlapping) > 0 || e.isRecorded() || w.contested[e.start] {
			add(e)
		}
	}
	for i := range p.remove {
		add(&p.remove[i])
	}
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := w.alerts.getAll(ctx, w.series.Tenant, w.series.Device, ids)
	if err != nil {
		return nil, fmt.Errorf("read alerts of rule %s: %w", w.rule.ID, err)
	}
	return all, nil
}
