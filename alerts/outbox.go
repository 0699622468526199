package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// outboxPK is the partition of the outbox entries of all tenants.
const outboxPK = "OUTBOX"

// outbox lists the alerts whose opening or resolution may have to be delivered.
//
// An entry names an alert, and its version after an opening or a resolution. The entry is durable
// before that change of the alert, or together with it. So no opening or resolution lacks an entry,
// even if the process dies. The alert itself has the content to deliver. The reader compares the
// alert with the delivered state, and removes the entry when they agree.
type outbox struct {
	items store.Items
	now   func() time.Time
}

// AlertName identifies an alert, also across tenants.
type AlertName struct {
	Tenant, Device, Alert string
}

// OutboxEntry names an alert that has changed, or is about to change.
type OutboxEntry struct {
	AlertName
	Version int64     // version of the alert after the change
	At      time.Time // when the entry was written
}

// concerns reports whether a change of an alert needs an outbox entry: the alert is new, was resolved
// or reopened, or was replaced or withdrawn. The argument "old" is nil for a new alert.
func (o *outbox) concerns(old, a *Alert) bool {
	return o != nil && (old == nil || old.Open() != a.Open() || old.moved.IsZero() != a.moved.IsZero())
}

// room returns the capacity of a list of writes: the given changes, and the given entries if changes of
// alerts are delivered.
func (o *outbox) room(changes, entries int) int {
	if o == nil {
		return changes
	}
	return changes + entries
}

// entry returns the write of an entry, to be executed in one step with the write of its alert. A
// registry with such writes has only one process, so the stored entry has no later version. The
// attributes must be empty.
func (o *outbox) entry(attrs map[string]varve.Value, a *Alert, version int64) store.Change {
	return store.Change{Item: o.item(attrs, a, version)}
}

func (o *outbox) item(attrs map[string]varve.Value, a *Alert, version int64) store.Item {
	registry.PutText(attrs, "tenant", a.Tenant)
	registry.PutText(attrs, "device", a.Device)
	registry.PutText(attrs, "alert", a.ID)
	registry.PutTime(attrs, "at", o.now().UTC())
	attrs["version"] = varve.IntValue(version)
	return store.Item{Key: outboxKey(a.Tenant, a.Device, a.ID), Attrs: attrs}
}

// outboxKey returns the key of an entry. Entries are sorted by tenant, device and Alert.Since.
func outboxKey(tenant, device, id string) store.Key {
	return store.Key{PK: outboxPK, SK: tenant + "/" + device + "#" + id}
}

// announce writes an entry, unless the stored one has a later version. In that case, another process
// is about to make a later change, or has made it. An entry of the same version may be old: its
// writer may have died before the change. A new entry makes the reader reread the alert.
func (o *outbox) announce(ctx context.Context, a *Alert, version int64) error {
	it := o.item(map[string]varve.Value{}, a, version)
	notLater, absent := store.IfLess("version", varve.IntValue(version+1)), store.IfAbsent()
	// Try both conditions twice. Between two tries, the reader may remove the entry, or a slow process may
	// write an earlier one.
	for _, cond := range []store.Cond{notLater, absent, notLater, absent} {
		err := o.items.Put(ctx, it, cond)
		if err == nil || !errors.Is(err, store.ErrCondition) {
			return err
		}
	}
	return nil
}

// Entries returns all entries, sorted by tenant, device and Alert.Since.
func (o *outbox) Entries(ctx context.Context) (all []OutboxEntry, err error) {
	for it, err := range registry.All(ctx, o.items, store.ItemQuery{PK: outboxPK, Consistent: true}) {
		if err != nil {
			return nil, fmt.Errorf("read the outbox of alerts: %w", err)
		}
		a := registry.NewReader(it)
		e := OutboxEntry{
			AlertName: AlertName{Tenant: a.Text("tenant"), Device: a.Text("device"), Alert: a.Text("alert")}, Version: registry.Int(it.Attrs["version"]),
			At: a.Time("at"),
		}
		if err := a.Err(); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// Remove removes an entry, unless a later change or another writer has replaced it.
func (o *outbox) Remove(ctx context.Context, e *OutboxEntry) error {
	err := o.items.Delete(ctx, outboxKey(e.Tenant, e.Device, e.Alert),
		store.IfEquals("version", varve.IntValue(e.Version)), store.IfEquals("at", registry.TimeValue(e.At)))
	if errors.Is(err, store.ErrCondition) {
		return nil
	}
	return err
}
