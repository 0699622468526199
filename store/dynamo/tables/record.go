package tables

import (
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// recordsPK is the partition of the registry with the records. Their sort keys are the names of
// tables.
const recordsPK = "TABLES"

// phase is the state of a table's creation or deletion.
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

// record is the state of a table in the registry.
type record struct {
	Phase   phase
	Tier    store.Tier
	Created time.Time
	Retired time.Time
	Hold    string
	Used    bool      // whether a reading was or will be written to the table
	Lost    time.Time // if a deleted table was recreated, the time of its recreation
	Listed  bool      // whether the catalog's version has changed since Used became true
	Version int64     // increased by every change of the record
}

// isUsable reports whether a table has a record and is not being created or dropped.
func (r *record) isUsable() bool { return r != nil && r.Phase == usable }

// info returns the Info of a table. A table that is not owned has no record.
func (r *record) info(t grid.Table, owned bool) store.Info {
	if !owned {
		return store.Info{Table: t, Status: store.Active}
	}
	return store.Info{
		Table: t, Status: r.Phase.status(), Owned: true,
		Tier: r.Tier, Created: r.Created, Retired: r.Retired, Hold: r.Hold, Lost: r.Lost,
	}
}

func recordKey(t grid.Table) store.Key { return store.Key{PK: recordsPK, SK: t.Name()} }

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
		v, exists := it.Attrs[name]
		if !exists {
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
