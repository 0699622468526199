package streams

import (
	"context"
	"errors"
	"fmt"
	"github.com/varvedb/varve/store"
	"maps"
	"slices"
	"time"
)

// Repair is a change to the registry item of a stream. After it, the classes, the row window and
// the shards of the item are sufficient to find all readings of the stream in the tables.
type Repair struct {
	Tenant  string         `json:"tenant"`
	Name    string         `json:"stream"`
	Missing bool           `json:"missing"` // whether the item is missing
	Classes []string       `json:"classes"`
	Window  time.Duration  `json:"-"`
	Shards  map[string]int `json:"shards,omitempty"`
}

// PlanRepairs compares the items of streams with the streams that were found in tables. It returns
// a change for each item that is missing, or that lacks classes, row windows or shards. It changes
// no item. RecoverFrom must have been called.
func (r *Registry) PlanRepairs(ctx context.Context, found []store.StreamLayout) (plan []Repair, err error) {
	keys := make([]store.Key, len(found))
	for i := range found {
		keys[i] = id{found[i].Tenant, found[i].Stream}.key()
	}
	items, err := r.items.Get(ctx, keys, true)
	if err != nil {
		return nil, fmt.Errorf("read %d streams: %w", len(keys), err)
	}
	existing := make(map[store.Key]*store.Item, len(items))
	for i := range items {
		existing[items[i].Key] = &items[i]
	}
	for i := range found {
		k := id{found[i].Tenant, found[i].Stream}
		is, it := Stream{Tenant: k.tenant, Name: k.stream}, existing[keys[i]]
		if it != nil {
			if is, err = decode(k, it); err != nil {
				return nil, err
			}
		}
		next := is
		next.merge(&found[i], r.classOf)
		if it == nil || !next.equal(&is) {
			plan = append(plan, Repair{k.tenant, k.stream, it == nil, next.Classes, next.Window, next.Shards})
		}
	}
	return plan, nil
}

// merge extends the classes, the row window and the shards of the stream, so that they include a layout
// that was found in tables.
func (s *Stream) merge(found *store.StreamLayout, classOf func(prefix string) (string, bool)) {
	for _, prefix := range found.Prefixes {
		if class, ok := classOf(prefix); ok {
			s.addClass(class)
		}
	}
	if !s.covers(found.Window) {
		s.Window = store.Layout{RowWindow: s.Window}.Widen(store.Layout{RowWindow: found.Window}).RowWindow
	}
	shards := maps.Clone(s.Shards)
	for device, n := range found.Shards {
		if n > max(shards[device], 1) {
			if shards == nil {
				shards = map[string]int{}
			}
			shards[device] = n
		}
	}
	s.Shards = shards
}

// Apply applies repairs. If one fails, the others are still applied. A repair only adds classes
// and shards, and widens row windows.
func (r *Registry) Apply(ctx context.Context, plan []Repair) error {
	var errs []error
	for _, p := range plan {
		_, err := r.change(ctx, id{p.Tenant, p.Name}, func(st *Stream) error {
			for _, class := range p.Classes {
				st.addClass(class)
			}
			st.merge(&store.StreamLayout{Window: p.Window, Shards: p.Shards}, r.classOf)
			return nil
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Stream) addClass(class string) {
	if !slices.Contains(s.Classes, class) {
		s.Classes = append(slices.Clone(s.Classes), class)
		slices.Sort(s.Classes)
	}
}

// covers reports whether the stream's row window is a multiple of the given one.
func (s *Stream) covers(window time.Duration) bool {
	wide := store.Layout{RowWindow: s.Window}.Window()
	return wide%store.Layout{RowWindow: window}.Window() == 0
}
