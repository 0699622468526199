package alerts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	episodePrefix  = "RUN#"
	deliveryPrefix = "DELIVERY#"
)

// Trail lists the items of the registry that belong to the alerts of a device.
//
// The other items must be deleted before the alerts, in calls of their own: one call of DeleteAll has no
// order. If a deletion is interrupted, the next one finds the outbox entries and the delivery records by
// the ids of the alerts.
type Trail struct {
	Alerts []store.Key
	Others []store.Key
}

// FindTrail finds alerts of a device, and their items. It selects alerts whose Since is in the
// window. If the argument "stream" is set, it selects only alerts with that stream.
func FindTrail(ctx context.Context, items store.Items, tenant, device, stream string, w varve.Window) (t Trail, err error) {
	pk := registry.DevicePK(tenant, device)
	scan := func(prefix string, each func(it *store.Item, rest string) error) error {
		q := store.ItemQuery{PK: pk, From: prefix, To: store.PrefixEnd(prefix), Consistent: true}
		for it, err := range registry.All(ctx, items, q) {
			if err == nil {
				err = each(it, strings.TrimPrefix(it.SK, prefix))
			}
			if err != nil {
				return fmt.Errorf("alerts of device %s: %w", device, err)
			}
		}
		return nil
	}
	var ids []string
	err = scan(alertPrefix, func(it *store.Item, id string) error {
		at, err := timeOfAlert(id)
		if err == nil && w.Contains(at) && (stream == "" || it.Attrs["stream"].Text() == stream) {
			ids = append(ids, id)
		}
		return err
	})
	if err != nil {
		return t, err
	}
	for _, id := range ids {
		t.Others = append(t.Others, outboxKey(tenant, device, id), store.Key{PK: pk, SK: deliveryPrefix + id})
	}
	if stream == "" {
		err = scan(deliveryPrefix, func(it *store.Item, id string) error {
			at, err := timeOfAlert(id)
			if err == nil && w.Contains(at) {
				t.Others = append(t.Others, it.Key)
			}
			return err
		})
		if err != nil {
			return t, err
		}
	}
	err = scan(episodePrefix, func(it *store.Item, rest string) error {
		subject, at, _ := strings.Cut(rest, "#")
		start, err := parsePosition(at)
		of := subject[strings.LastIndexByte(subject, '/')+1:]
		if err == nil && w.Contains(time.Unix(0, start.Time)) && (stream == "" || of == stream) {
			t.Others = append(t.Others, it.Key)
		}
		return err
	})
	for _, id := range ids {
		t.Alerts = append(t.Alerts, alertKey(tenant, device, id))
	}
	return t, err
}

// timeOfAlert returns the time of the first reading of an alert, from the alert's id.
func timeOfAlert(id string) (time.Time, error) {
	at, _, _ := strings.Cut(id, "-")
	ns, err := strconv.ParseInt(at, 16, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("id of alert %.40q: not a time", id)
	}
	return time.Unix(0, ns), nil
}

// ForgetSamples removes the remembered positions of the newest samples of a series. It is called
// after readings were deleted, so that the next evaluation reads the stored readings.
func (m *Monitor) ForgetSamples(s varve.Series) { m.newest.forget(s) }

func (n *newestSamples) forget(s varve.Series) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for of := range n.bySampling {
		if of.series == s {
			delete(n.bySampling, of)
		}
	}
}
