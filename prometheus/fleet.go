package prometheus

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry"
)

// fleetAge is the maximum age of the labels of devices. A changed attribute is visible after at most
// this time.
const fleetAge = 10 * time.Second

// fleet has the labels of all registered devices of a tenant.
type fleet struct {
	mu      sync.Mutex
	read    time.Time
	devices [][]labels.Label
}

type deviceKey struct{ tenant, device string }

type readDevice struct {
	labels []labels.Label
	read   time.Time
}

// fleets caches the fleets of recently queried tenants, and single devices that queries named.
type fleets struct {
	mu    sync.Mutex
	known map[string]*fleet
	named map[deviceKey]readDevice
	// streams has the known streams of recently queried tenants.
	streams map[string]map[string]bool
}

// hasStreams reports whether all names are known streams of a tenant.
func (f *fleets) hasStreams(tenant string, names []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(names, func(name string) bool { return !f.streams[tenant][name] })
}

func (f *fleets) addStreams(tenant string, names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.streams) >= maxFleets || f.streams == nil {
		f.streams = map[string]map[string]bool{}
	}
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	f.streams[tenant] = known
}

// maxFleets is the maximum number of tenants in the cache, and maxNamed the maximum number of single
// devices.
const (
	maxFleets = 16
	maxNamed  = 10_000
)

func (f *fleets) device(key deviceKey, now time.Time) ([]labels.Label, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.named[key]
	age := now.Sub(d.read)
	return d.labels, ok && age >= 0 && age < fleetAge
}

func (f *fleets) setDevice(key deviceKey, d readDevice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.named) >= maxNamed {
		clear(f.named)
	}
	f.named[key] = d
}

func (f *fleets) of(tenant string) *fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[tenant] == nil {
		if len(f.known) >= maxFleets {
			clear(f.known)
		}
		f.known[tenant] = new(fleet)
	}
	return f.known[tenant]
}

// allDevices returns the labels of all registered devices of a tenant, in the order of their names.
func (e *Engine) allDevices(ctx context.Context, tenant string) ([][]labels.Label, error) {
	f := e.fleets.of(tenant)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := e.opts.Now()
	if age := now.Sub(f.read); !f.read.IsZero() && age >= 0 && age < fleetAge {
		return f.devices, nil
	}
	var list [][]labels.Label
	q := devices.Query{Tenant: tenant, Limit: registry.MaxLimit}
	for {
		page, err := e.opts.Devices.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			list = append(list, deviceLabels(&page.Items[i]))
		}
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	f.devices, f.read = list, now
	return list, nil
}

// namedDevices returns the labels of the devices with the given names. A device that is not
// registered has no attributes.
func (e *Engine) namedDevices(ctx context.Context, tenant string, names []string) ([][]labels.Label, error) {
	list := make([][]labels.Label, 0, len(names))
	for _, name := range names {
		if varve.ValidateDevice(name) != nil {
			continue // no reading can have this device
		}
		device, err := e.namedDevice(ctx, tenant, name)
		if err != nil {
			return nil, err
		}
		list = append(list, device)
	}
	return list, nil
}

// namedDevice returns the labels of a device. The labels may be up to fleetAge old.
func (e *Engine) namedDevice(ctx context.Context, tenant, name string) ([]labels.Label, error) {
	now, key := e.opts.Now(), deviceKey{tenant, name}
	if known, ok := e.fleets.device(key, now); ok {
		return known, nil
	}
	found := deviceLabels(&devices.Device{Device: name})
	d, err := e.opts.Devices.Get(ctx, tenant, name)
	switch {
	case err == nil:
		found = deviceLabels(&d)
	case varve.FailureOf(err) != varve.NotFound:
		return nil, err
	}
	e.fleets.setDevice(key, readDevice{found, now})
	return found, nil
}

// targets returns the pairs of a stream and a device that matchers may select, stream by stream. If limit
// is not 0, it returns only the first pairs. The result n is the number of all pairs, whatever the limit. A
// matcher of __name__ is ignored.
func (e *Engine) targets(ctx context.Context, tenant string, matchers []*labels.Matcher, limit int) (found []target, n int, err error) {
	all, err := e.streamNames(ctx, tenant, matchers)
	if err != nil {
		return nil, 0, err
	}
	var list [][]labels.Label
	if names, finite := namesOf(deviceLabel, matchers); finite {
		list, err = e.namedDevices(ctx, tenant, names)
	} else {
		list, err = e.allDevices(ctx, tenant)
	}
	if err != nil {
		return nil, 0, err
	}
	var matching [][]labels.Label
	for _, device := range list {
		if matchesDevice(device, matchers) {
			matching = append(matching, device)
		}
	}
	for _, name := range all {
		if !matchesStream(name, matchers) {
			continue
		}
		n += len(matching)
		for _, device := range matching {
			if limit > 0 && len(found) >= limit {
				break
			}
			found = append(found, newTarget(tenant, name, device))
		}
	}
	return found, n, nil
}

// streamNames returns the streams of a tenant, or only the streams that matchers name. Streams are
// never removed, so streams that a matcher names need not be read twice.
func (e *Engine) streamNames(ctx context.Context, tenant string, matchers []*labels.Matcher) ([]string, error) {
	if names, finite := namesOf(streamLabel, matchers); finite && e.fleets.hasStreams(tenant, names) {
		return names, nil
	}
	all, err := e.opts.Streams.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	e.fleets.addStreams(tenant, names)
	return names, nil
}

// checkBounded fails if a selector names neither streams nor devices, because it may select any number of
// series. A regular expression counts as names only if it is a list such as a|b.
func (e *Engine) checkBounded(matchers []*labels.Matcher) error {
	pattern := ""
	for _, name := range []string{streamLabel, deviceLabel} {
		if _, finite := namesOf(name, matchers); finite {
			return nil
		}
		for _, m := range matchers {
			if m.Name == name && m.Type == labels.MatchRegexp {
				pattern = m.String()
			}
		}
	}
	remedy := fmt.Sprintf(`add stream="…" or device="…", or a list of names as in device=~"a|b|c"; a selector may match %d series (query.max_series)`, e.opts.MaxSeries)
	if pattern != "" {
		return fmt.Errorf("%s: not a list of names, so the selector has no bound: %s", pattern, remedy)
	}
	return fmt.Errorf("the selector names no stream and no device: %s", remedy)
}

// namesOf returns the values that a matcher lists for a label, if one does. Other matchers of the label may
// exclude some of these values.
func namesOf(label string, matchers []*labels.Matcher) (names []string, finite bool) {
	for _, m := range matchers {
		if m.Name != label {
			continue
		}
		switch {
		case m.Type == labels.MatchEqual && m.Value != "":
			return []string{m.Value}, true
		case m.Type == labels.MatchRegexp && len(m.SetMatches()) > 0:
			names, finite = slices.Compact(slices.Sorted(slices.Values(m.SetMatches()))), true
		}
	}
	return names, finite
}

func matchesStream(stream string, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if m.Name == streamLabel && !m.Matches(stream) {
			return false
		}
	}
	return true
}

// matchesDevice reports whether matchers accept the labels of a device. Matchers of __name__ and
// stream are ignored.
func matchesDevice(device []labels.Label, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if m.Name == nameLabel || m.Name == streamLabel {
			continue
		}
		value := ""
		for i := range device {
			if device[i].Name == m.Name {
				value = device[i].Value
			}
		}
		if !m.Matches(value) {
			return false
		}
	}
	return true
}

func matchesField(field string, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if m.Name == nameLabel && !m.Matches(field) {
			return false
		}
	}
	return true
}
