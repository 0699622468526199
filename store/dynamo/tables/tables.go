// Package tables manages the time tables of a deployment.
//
// A time table is a DynamoDB table with a record in the registry. The record holds facts that
// DynamoDB does not store: the tier, retirement, holds, use and loss.
//
//	        creating            in use               deleting
//	record  making ── ready ─── used, listed ─────── dropping ── deleted
//	table           created     rows                             deleted
//
//	Records    reads and changes the records
//	Catalog    lists tables, and caches the lists
//	Lifecycle  creates, tunes, holds, retires and drops tables
//	Confirmed  makes sure before a write that the record marks the table as used
//
// Invariants: a record is written before its table is created, and deleted after its table is
// deleted. Before the first reading of a table is written, its record marks it as used and the
// catalog's version changes. Only tables with the deployment's owner tag are deleted.
//
// After a failure, repeating the call completes the work, even in another process.
package tables

import (
	"context"
	"time"

	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/template"
)

// Options are the parts and settings that package tables needs.
type Options struct {
	Admin    *admin.Admin
	Items    *items.Items
	ClassOf  func(prefix string) string // retention class of a prefix
	Now      func() time.Time
	Parallel int           // largest number of requests that a call sends at the same time
	CacheFor time.Duration // how long a list of tables is used
}

// Tables are the parts that manage tables.
type Tables struct {
	Records   *Records
	Catalog   *Catalog
	Lifecycle *Lifecycle
	Confirmed *Confirmed
}

// New returns the parts that manage tables.
func New(o Options) *Tables {
	r := &Records{items: o.Items, admin: o.Admin, lists: newLists(o.CacheFor)}
	return &Tables{
		Records:   r,
		Catalog:   &Catalog{records: r, admin: o.Admin, now: o.Now, parallel: o.Parallel},
		Lifecycle: &Lifecycle{records: r, admin: o.Admin, items: o.Items, classOf: o.ClassOf, now: o.Now},
		Confirmed: newConfirmed(r, o.Admin),
	}
}

// Template reads the table template from the registry. It returns the zero Template if it is
// missing.
func Template(ctx context.Context, registry *items.Items) (template.Template, error) {
	it, err := registry.GetOne(ctx, template.Key())
	if err != nil || it == nil {
		return template.Template{}, err
	}
	return template.Parse([]byte(it.Attrs[template.Attr].Text()))
}
