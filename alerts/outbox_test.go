package alerts_test

import (
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

func delivering(o *alerts.Options) { o.Deliver = true }

// entries returns the versions in the outbox by alert.
func (w *world) entries() map[string]int64 {
	w.t.Helper()
	list, err := w.Outbox().Entries(w.t.Context())
	must(w.t, err)
	versions := map[string]int64{}
	for _, e := range list {
		versions[e.Alert] = e.Version
	}
	return versions
}

// TestOutbox_HasEntryForEveryChange interrupts the evaluation of late readings before each of its
// writes. After each interruption, every alert that was changed must have an entry with its version
// or a later one.
func TestOutbox_HasEntryForEveryChange(t *testing.T) {
	for died := 0; ; died++ {
		w := newWorld(t, delivering)
		w.rule(gapped(5, 0, 0))
		w.send(valued(0, 35), valued(60, 35))
		writes := 0
		w.items.FailWrites(func(store.Key) error {
			if writes++; writes > died {
				return registrytest.ErrDisk
			}
			return nil
		})
		for _, r := range []varve.Reading{
			valued(-60, 35), // with this reading, the alert begins earlier, and has another id
			valued(30, 2),
			valued(3600, 2),
		} {
			readings := []varve.Reading{r}
			must(t, w.Observe(t.Context(), w.now(), readings, w.store(readings)))
		}
		w.items.FailWrites(nil)
		w.checkEntries(died)
		if writes <= died {
			break // no write failed
		}
	}
}

// checkEntries checks that each alert has an entry with its version or a later one. The test must
// not have removed entries before.
func (w *world) checkEntries(died int) {
	w.t.Helper()
	entries := w.entries()
	var names []alerts.AlertName
	for id := range entries {
		names = append(names, alerts.AlertName{Tenant: tenant, Device: "d", Alert: id})
	}
	stored, err := w.Outbox().Alerts(w.t.Context(), names)
	must(w.t, err)
	for name, a := range stored {
		if entries[name.Alert] < a.Version {
			w.t.Errorf("died before write %d: alert %s has version %d, and its entry %d", died, name.Alert, a.Version, entries[name.Alert])
		}
	}
	for _, a := range w.alerts(alerts.AlertList{}) {
		if entries[a.ID] == 0 {
			w.t.Errorf("died before write %d: alert %s has no entry", died, a.ID)
		}
	}
}

// TestOutbox_KeepsLaterEntry checks that Remove leaves an entry that a later change has replaced since
// it was read.
func TestOutbox_KeepsLaterEntry(t *testing.T) {
	w := newWorld(t, delivering)
	w.rule(gapped(5, 0, 0))
	w.send(valued(0, 35))
	before, err := w.Outbox().Entries(t.Context())
	must(t, err)
	w.send(valued(60, 2))
	must(t, w.Outbox().Remove(t.Context(), &before[0]))
	if after := w.entries(); len(after) != 1 || after[before[0].Alert] != before[0].Version+1 {
		t.Errorf("entries %v after the entry of version %d was removed", after, before[0].Version)
	}
}

// TestOutbox_IgnoresRemarks checks that changes that are not delivered have no entry, and that
// nothing is written without Options.Deliver.
func TestOutbox_IgnoresRemarks(t *testing.T) {
	w := newWorld(t, delivering)
	w.rule(gapped(5, 0, 0))
	w.send(valued(0, 35))
	list, err := w.Outbox().Entries(t.Context())
	must(t, err)
	for _, e := range list {
		must(t, w.Outbox().Remove(t.Context(), &e))
		if _, err := w.AcknowledgeAlert(t.Context(), tenant, e.Alert, "ann", ""); err != nil {
			t.Fatal(err)
		}
	}
	if left := w.entries(); len(left) != 0 {
		t.Errorf("an acknowledgement has an entry: %v", left)
	}
	off := newWorld(t)
	off.rule(gapped(5, 0, 0))
	off.send(valued(0, 35))
	page, err := off.items.Query(t.Context(), store.ItemQuery{PK: "OUTBOX"})
	if err != nil || len(page.Items) != 0 || off.Outbox() != nil {
		t.Errorf("%d entries without delivery, %v", len(page.Items), err)
	}
}
