// Package tables manages the tables of a deployment.
//
// Each table of readings is a DynamoDB table with a record in the registry. The record has facts
// that DynamoDB does not store: the tier, retirement, holds, use and loss.
//
//	        creating            in use               deleting
//	record  making ── ready ─── used, listed ─────── dropping ── deleted
//	table           created     rows                             deleted
//
// The main types:
//
//   - [Records] reads and changes the records.
//   - [Catalog] lists tables, and caches the lists.
//   - [Lifecycle] creates, tunes, holds, retires and drops tables.
//   - [Scaler] scales provisioned tables by their use.
//   - [Confirmed] makes sure before a write that the record marks the table as used.
//
// These rules always hold:
//
//   - A record is written before its table is created, and deleted after its table is deleted.
//   - Before the first reading of a table is written, its record marks it as used and the catalog's
//     version changes.
//   - If the endpoint supports tags, only tables with the deployment's owner tag are deleted.
//
// After a failure or a crash, repeating the call completes the work, even in another process.
package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/row"
	"github.com/varvedb/varve/store/dynamo/template"
)

// Options are the parts and settings that package tables needs.
type Options struct {
	Admin    *admin.Admin
	Items    *items.Items
	ClassOf  func(prefix string) string // retention class of a prefix
	Now      func() time.Time
	Parallel int           // largest number of requests that a call sends at the same time
	CacheFor time.Duration // how long a cached list of tables may be used
	// KeepExpired leaves the time to live of all tables off, so that DynamoDB deletes no rows.
	KeepExpired bool
	// Used returns the use of each table by this process since the last call.
	Used func() map[string]client.TableUse
}

// Tables are the parts that manage tables.
type Tables struct {
	Records   *Records
	Catalog   *Catalog
	Lifecycle *Lifecycle
	Scaler    *Scaler
	Confirmed *Confirmed
}

// New returns the parts that manage tables.
func New(o Options) *Tables {
	r := &Records{items: o.Items, admin: o.Admin, lists: newLists(o.CacheFor)}
	l := &Lifecycle{records: r, admin: o.Admin, items: o.Items, classOf: o.ClassOf, now: o.Now, keepExpired: o.KeepExpired}
	return &Tables{
		Records:   r,
		Catalog:   &Catalog{records: r, admin: o.Admin, now: o.Now, parallel: o.Parallel, keepExpired: o.KeepExpired},
		Lifecycle: l,
		Scaler:    newScaler(l, o.Used),
		Confirmed: newConfirmed(r, o.Admin),
	}
}

// KeepExpired turns the time to live of all active tables of this deployment off.
func (t *Tables) KeepExpired(ctx context.Context) error {
	listed, err := t.Catalog.All(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range listed {
		in := &listed[i]
		if !in.Owned || in.Status != store.Active {
			continue
		}
		if err := t.Lifecycle.admin.SetTTL(ctx, in.Name(), row.AttrTTL, false); err != nil && !client.IsNoTable(err) {
			errs = append(errs, fmt.Errorf("turn the time to live of %s off, which DynamoDB allows once an hour: %w", in.Table, err))
		}
	}
	return errors.Join(errs...)
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
