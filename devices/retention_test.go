package devices_test

import (
	"context"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"strings"
	"testing"
	"time"
)

const day = 24 * time.Hour

// TestRetention_FollowsChangesWithinTTL checks that a changed or removed retention takes effect
// within ten seconds, and that many lookups for a tenant without overrides cost one read in
// ten seconds.
func TestRetention_FollowsChangesWithinTTL(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	expect := func(want time.Duration) {
		t.Helper()
		if keep, err := w.Retention(ctx, tenant, "d"); err != nil || keep != want {
			t.Errorf("keeps %s, %v: want %s", keep, err, want)
		}
	}
	for range 1000 {
		expect(retention.Forever)
	}
	if w.items.Gets != 1 {
		t.Errorf("%d reads, want 1", w.items.Gets)
	}
	other := devices.New(devices.Options{Items: w.items, Now: w.now, Policy: &retention.Policy{
		Classes: []retention.Class{{Name: "default", Retention: 365 * day}},
	}})
	defer other.Close()
	_, err := other.Put(ctx, devices.Device{Tenant: tenant, Device: "d", Retention: 30 * day}, w)
	must(t, err)
	w.advance(10 * time.Second)
	expect(30 * day)
	_, err = other.Put(ctx, devices.Device{Tenant: tenant, Device: "d"}, w)
	must(t, err)
	expect(30 * day)
	w.advance(10 * time.Second)
	expect(retention.Forever)
	if keep, err := w.Retention(ctx, tenant, "nobody"); err != nil || keep != retention.Forever {
		t.Errorf("a device that is not registered keeps %s, %v", keep, err)
	}
}

// TestPut_ChecksRetentionOfClasses checks that a device's retention may be as long as the classes
// of its streams allow. The error for a longer retention must name a class that allows it.
func TestPut_ChecksRetentionOfClasses(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	ledger := reading("d", noon)
	ledger.Stream = "ledger"
	w.send(ledger)
	d := devices.Device{Tenant: tenant, Device: "d", Retention: 10 * 365 * day}
	_, err := w.Put(ctx, d, w)
	must(t, err)
	w.send(reading("d", noon))
	_, err = w.Put(ctx, d, w)
	invalid(t, err, "retention", "10y is longer than the 1y of class default, to which its stream weather belongs: put its stream into class audit, which keeps forever")
	d.Retention = 365 * day
	_, err = w.Put(ctx, d, w)
	must(t, err)
}

// slow is a store that calls a function once, between a read and its answer.
type slow struct {
	store.Items
	prefix string // prefix of the sort keys whose reads are slow
	do     func()
}

func (s *slow) read(sk string) {
	if do := s.do; do != nil && strings.HasPrefix(sk, s.prefix) {
		s.do = nil
		do()
	}
}

func (s *slow) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	page, err := s.Items.Query(ctx, q)
	s.read(q.From)
	return page, err
}

func (s *slow) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	items, err := s.Items.Get(ctx, keys, consistent)
	s.read(keys[0].SK)
	return items, err
}

func newSlow(t *testing.T) (*world, *slow) {
	s := &slow{}
	w := newWorld(t, func(o *devices.Options) {
		s.Items = o.Items
		o.Items = s
	})
	return w, s
}

// TestRetention_ChangesDuringRead checks that a change by this process is visible immediately, even
// if the device, or the item that marks its tenant, is being read.
func TestRetention_ChangesDuringRead(t *testing.T) {
	w, s := newSlow(t)
	put := func(keep time.Duration) func() {
		return func() {
			_, err := w.Put(t.Context(), devices.Device{Tenant: tenant, Device: "d", Retention: keep}, w)
			must(t, err)
		}
	}
	for _, c := range []struct {
		prefix        string // prefix of the sort key that is read
		keep          time.Duration
		before, after time.Duration
	}{
		{"DEVICE_RETENTION", 30 * day, retention.Forever, 30 * day},
		{"#METADATA", 60 * day, 30 * day, 60 * day},
	} {
		w.advance(10 * time.Second)
		s.prefix, s.do = c.prefix, put(c.keep)
		for _, want := range []time.Duration{c.before, c.after} {
			if keep, err := w.Retention(t.Context(), tenant, "d"); err != nil || keep != want {
				t.Errorf("changed while %s is read: keeps %s, %v: want %s", c.prefix, keep, err, want)
			}
		}
	}
}
