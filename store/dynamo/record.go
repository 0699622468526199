package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// tablesPK is the partition of the registry in which each table of Varve's has
// a record, under its name.
const tablesPK = "TABLES"

// phase is how far a table's making or dropping has come.
type phase string

const (
	making   phase = "making"
	usable   phase = "ready"
	dropping phase = "dropping"
)

func (p phase) status() store.Status {
	switch p {
	case making:
		return store.Creating
	case dropping:
		return store.Deleting
	default:
		return store.Active
	}
}

// record is what the registry says of a table.
type record struct {
	Phase   phase
	Tier    store.Tier
	Created time.Time
	Retired time.Time
	Hold    string
	Used    bool      // something has been written to it, or is about to be
	Lost    time.Time // when the table was made in place of one that somebody deleted
	Listed  bool      // the catalog's version has changed since it is used
	Version int64     // raised by every change
}

// info describes a table that has a record; or none, if it is not ours.
func (r *record) info(t grid.Table, ours bool) store.Info {
	if !ours {
		return store.Info{Table: t, Status: store.Active}
	}
	return store.Info{
		Table: t, Status: r.Phase.status(), Owned: true,
		Tier: r.Tier, Created: r.Created, Retired: r.Retired, Hold: r.Hold, Lost: r.Lost,
	}
}

func recordKey(t grid.Table) store.Key { return store.Key{PK: tablesPK, SK: t.Name()} }

func (r *record) item(t grid.Table) store.Item {
	it := store.Item{Key: recordKey(t), Attrs: map[string]varve.Value{
		"phase":   varve.StringValue(string(r.Phase)),
		"tier":    varve.IntValue(int64(r.Tier)),
		"created": varve.IntValue(r.Created.UnixNano()),
		"version": varve.IntValue(r.Version),
	}}
	if !r.Retired.IsZero() {
		it.Attrs["retired"] = varve.IntValue(r.Retired.UnixNano())
	}
	if r.Used {
		it.Attrs["used"] = varve.BoolValue(true)
	}
	if !r.Lost.IsZero() {
		it.Attrs["lost"] = varve.IntValue(r.Lost.UnixNano())
	}
	if r.Listed {
		it.Attrs["listed"] = varve.BoolValue(true)
	}
	if r.Hold != "" {
		it.Attrs["hold"] = varve.StringValue(r.Hold)
	}
	return it
}

func parseRecord(it *store.Item) (record, error) {
	var bad error
	number := func(name string) int64 {
		v, there := it.Attrs[name]
		if !there {
			return 0
		}
		n, ok := v.Int()
		if !ok {
			bad = fmt.Errorf("record of table %s: %s is %s", it.SK, name, v)
		}
		return n
	}
	r := record{Tier: store.Tier(number("tier")), Created: time.Unix(0, number("created")).UTC(), Version: number("version")}
	if at := number("retired"); at != 0 {
		r.Retired = time.Unix(0, at).UTC()
	}
	if at := number("lost"); at != 0 {
		r.Lost = time.Unix(0, at).UTC()
	}
	if v, ok := it.Attrs["used"]; ok {
		r.Used = v.Bool()
	}
	if v, ok := it.Attrs["listed"]; ok {
		r.Listed = v.Bool()
	}
	if v, ok := it.Attrs["hold"]; ok {
		r.Hold = v.Text()
	}
	if v, ok := it.Attrs["phase"]; ok {
		r.Phase = phase(v.Text())
	}
	return r, bad
}

// recordOf returns a table's record; nil if there is none.
func (s *Store) recordOf(ctx context.Context, t grid.Table) (*record, error) {
	items, err := s.getSome(ctx, []store.Key{recordKey(t)}, true, nil)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	r, err := parseRecord(&items[0])
	return &r, err
}

func (s *Store) change(ctx context.Context, t grid.Table, do func(*record) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.alter(ctx, t, do)
}

// alter changes a table's record, however many others do so too. What do
// returns is returned.
func (s *Store) alter(ctx context.Context, t grid.Table, do func(*record) error) error {
	defer s.list.forget()
	for try := 0; ; try++ {
		if err := pause(ctx, try); err != nil {
			return err
		}
		r, err := s.recordOf(ctx, t)
		if err != nil {
			return err
		}
		if r == nil || r.Phase != usable {
			return fmt.Errorf("%s: %w", t, store.ErrNoTable)
		}
		version := r.Version
		if err := do(r); err != nil {
			return err
		}
		r.Version++
		err = s.put(ctx, r.item(t), store.IfEquals("version", varve.IntValue(version)))
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
	}
}
