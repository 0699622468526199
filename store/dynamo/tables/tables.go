// Package tables manages the time tables of a deployment.
//
// A time table is a DynamoDB table with a record in the registry. The record holds the
// facts that DynamoDB does not know: the tier, retirement, holds, use and loss.
//
//	        creating            in use               deleting
//	record  making ── ready ─── used, listed ─────── dropping ── deleted
//	table           created     rows                             deleted
//
//	Records    reads and changes the records
//	Catalog    lists tables, with a cache
//	Lifecycle  creates, tunes, holds, retires and drops tables
//	Confirmed  confirms before a write that a table is in use
//
// Invariants: a record is written before its table is created, and deleted after it. A
// table is recorded as used, and the catalog's version changes, before its first reading.
// Only tables with the deployment's owner tag are deleted.
//
// After a failure, the same call continues the work, also from another process.
package tables

import (
	"context"
	"time"

	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/template"
)

// Options are the parts and the settings that tables need.
type Options struct {
	Admin    *admin.Admin
	Items    *items.Items
	ClassOf  func(prefix string) string // retention class of a prefix
	Now      func() time.Time
	Parallel int           // requests of one call at a time
	CacheFor time.Duration // how long a list of tables serves
}

// Tables are the parts that manage tables.
type Tables struct {
	Records   *Records
	Catalog   *Catalog
	Lifecycle *Lifecycle
	Confirmed *Confirmed
}

// New returns the parts.
func New(o Options) *Tables {
	r := &Records{items: o.Items, admin: o.Admin, lists: newLists(o.CacheFor)}
	return &Tables{
		Records:   r,
		Catalog:   &Catalog{records: r, admin: o.Admin, now: o.Now, parallel: o.Parallel},
		Lifecycle: &Lifecycle{records: r, admin: o.Admin, items: o.Items, classOf: o.ClassOf, now: o.Now},
		Confirmed: newConfirmed(r, o.Admin),
	}
}

// Template returns the table template in the registry, or the zero Template if it is missing.
func Template(ctx context.Context, registry *items.Items) (template.Template, error) {
	it, err := registry.GetOne(ctx, template.Key())
	if err != nil || it == nil {
		return template.Template{}, err
	}
	return template.Parse([]byte(it.Attrs[template.Attr].Text()))
}
