package erasures

import (
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store"
)

// found has the records about a device that an erasure deletes.
type found struct {
	Traces

	keys    []store.Key
	alerts  []store.Key // deleted after all other keys: see alerts.Trail
	rejects []rejects.Reject
}

// findTraces finds the alerts, logs, rejects and further records of a target.
func (e *Eraser) findTraces(ctx context.Context, s *scope) (f found, err error) {
	trail, err := alerts.FindTrail(ctx, e.opts.Items, s.Tenant, s.Device, s.Stream, s.Window)
	if err != nil {
		return f, err
	}
	f.Alerts, f.keys, f.alerts = len(trail.Alerts), trail.Others, trail.Alerts
	if s.Stream == "" {
		entries, keys, err := devicelog.FindEntries(ctx, e.opts.Items, s.Tenant, s.Device, s.Window)
		if err != nil {
			return f, err
		}
		f.Logs, f.keys = entries, append(f.keys, keys...)
	}
	if err := e.findRejects(ctx, s, &f); err != nil {
		return f, err
	}
	if s.isUnbounded() {
		if err := e.findSeriesRecords(ctx, s, &f); err != nil {
			return f, err
		}
	}
	if s.IsWhole() {
		err = e.findDeviceRecords(ctx, s, &f)
	}
	return f, err
}

// findRejects finds the device's rejects with an event time in the window. A reject without an event
// time is found if it last arrived in the window.
func (e *Eraser) findRejects(ctx context.Context, s *scope, f *found) error {
	q := rejects.Query{Tenant: s.Tenant, Stream: s.Stream, Device: s.Device, Limit: registry.MaxLimit}
	for e.opts.Rejects != nil {
		page, err := e.opts.Rejects.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			r := &page.Items[i]
			if at := r.Time; s.Window.Contains(at) || at.IsZero() && s.Window.Contains(r.Last) {
				f.rejects = append(f.rejects, *r)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	f.Rejects = len(f.rejects)
	return nil
}

// findSeriesRecords finds the names of fields and the learned clock offsets of the series.
func (e *Eraser) findSeriesRecords(ctx context.Context, s *scope, f *found) error {
	for i := range s.streams {
		series := s.series(s.streams[i].Name)
		keys := []store.Key{
			{PK: "FIELDS#" + series.String(), SK: "#NAMES"},
			{PK: "CLOCK#" + series.Tenant + "/" + series.Stream, SK: series.Device},
		}
		items, err := e.opts.Items.Get(ctx, keys, true)
		if err != nil {
			return fmt.Errorf("records of %s: %w", series, err)
		}
		for j := range items {
			f.keys = append(f.keys, items[j].Key)
		}
		f.Records += len(items)
	}
	return nil
}

// findDeviceRecords finds the registration of the device, and all other items of its partition.
func (e *Eraser) findDeviceRecords(ctx context.Context, s *scope, f *found) error {
	known := map[store.Key]bool{}
	for _, k := range slices.Concat(f.keys, f.alerts) {
		known[k] = true
	}
	q := store.ItemQuery{PK: registry.DevicePK(s.Tenant, s.Device), Consistent: true}
	for it, err := range registry.All(ctx, e.opts.Items, q) {
		switch {
		case err != nil:
			return fmt.Errorf("records of device %s: %w", s.Device, err)
		case it.SK == "#METADATA":
			f.Registration = true
		case !known[it.Key]:
			f.keys, f.Records = append(f.keys, it.Key), f.Records+1
		}
	}
	return nil
}

// eraseTraces deletes the records of a target, and returns how many of each kind it deleted.
func (e *Eraser) eraseTraces(ctx context.Context, s *scope) (Traces, error) {
	f, err := e.findTraces(ctx, s)
	if err != nil {
		return Traces{}, err
	}
	if f.Registration {
		if err := e.opts.Devices.Delete(ctx, s.Tenant, s.Device); err != nil && varve.FailureOf(err) != varve.NotFound {
			return Traces{}, err
		}
	}
	if err := e.opts.Rejects.Delete(ctx, s.Tenant, f.rejects); err != nil {
		return Traces{}, err
	}
	for _, keys := range [][]store.Key{f.keys, f.alerts} {
		for part := range slices.Chunk(keys, 500) {
			if err := e.opts.Items.DeleteAll(ctx, part); err != nil {
				return Traces{}, fmt.Errorf("delete records of device %s: %w", s.Device, err)
			}
		}
	}
	return f.Traces, nil
}

// partitions returns the partitions of the registry that may have had data of a target.
func (s *scope) partitions() []string {
	list := []string{registry.DevicePK(s.Tenant, s.Device), "OUTBOX", "REJECT#" + s.Tenant}
	for i := range s.streams {
		series := s.series(s.streams[i].Name)
		list = append(list, "ROLLUP#"+series.String(), "FIELDS#"+series.String(), "CLOCK#"+series.Tenant+"/"+series.Stream)
	}
	return list
}
