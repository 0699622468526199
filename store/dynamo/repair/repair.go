// Package repair restores, from the tables, the metadata that a lost or old registry lacks.
//
//	NewPlan   lists the streams and the missing stream rows; changes nothing
//	Apply     writes missing stream rows, and accepts losses if asked
//
// [Repairer] makes a [Plan] with its [Options], and applies it. A plan lists the streams in all
// tables. The caller restores them in the registry.
//
// These rules always hold:
//
//   - A plan only widens stream rows, and never deletes one.
//   - Damaged stream rows do not change.
//
// [Repairer.Apply] tries all repairs, and returns all errors. If it fails halfway, a new plan has
// the remaining repairs.
package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/layouts"
	"github.com/varvedb/varve/store/dynamo/reader"
	"github.com/varvedb/varve/store/dynamo/row"
	"github.com/varvedb/varve/store/dynamo/tables"
)

// Options control the search for missing stream rows.
type Options struct {
	// Scan reads all rows of all tables. If it is false, a table is read as a whole only if it has
	// no stream row, or has an unreadable one.
	Scan bool
	// Rate limits the read units per second of these reads. 0 means no limit.
	Rate float64
}

// Plan lists the streams in all tables, and the repairs that tables need.
type Plan struct {
	Streams []store.StreamLayout // all streams in tables, ordered by tenant and name
	Rows    []Row                // stream rows that are missing or do not cover all layouts
	Lost    []grid.Table         // tables that were deleted outside of Varve
	Damaged []string             // unreadable stream rows, which a repair does not change
}

// Row is a stream row that is missing in a table or does not cover all layouts.
type Row struct {
	Table grid.Table
	store.StreamLayout
}

// Repairer plans and applies repairs.
type Repairer struct {
	Tables  *tables.Tables
	Layouts *layouts.Layouts
	Reader  *reader.Reader
}

// NewPlan lists the streams in all tables, and the repairs that tables need.
func (r *Repairer) NewPlan(ctx context.Context, o Options) (p Plan, err error) {
	listed, err := r.Tables.Catalog.All(ctx)
	if err != nil {
		return p, err
	}
	merged := layouts.Merged{}
	for i := range listed {
		in := &listed[i]
		if !in.Lost.IsZero() {
			p.Lost = append(p.Lost, in.Table)
		}
		if !in.HasRows() {
			continue
		}
		rows, err := r.planTable(ctx, in.Table, o, &p)
		if err != nil && !client.IsNoTable(err) {
			return p, fmt.Errorf("scan %s: %w", in.Table, err)
		}
		for _, s := range rows {
			merged.Add(in.Table, s)
		}
	}
	p.Streams = merged.Layouts()
	return p, nil
}

// planTable adds the repairs of a table to a plan. It returns the stream rows by name, as they
// will be after the repairs.
func (r *Repairer) planTable(ctx context.Context, t grid.Table, o Options, p *Plan) (map[string]*row.Stream, error) {
	stored, bad, err := r.Layouts.Read(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, err := range bad {
		p.Damaged = append(p.Damaged, fmt.Sprintf("%s: %s", t, err))
	}
	rows := map[string]*row.Stream{}
	for i := range stored {
		rows[stored[i].Name()] = &stored[i]
	}
	if len(stored) > 0 && len(bad) == 0 && !o.Scan {
		return rows, nil
	}
	found := map[string]*row.Stream{}
	err = r.Reader.Scan(ctx, t, reader.Pace{Rate: o.Rate}, func(it attr.Item, _ float64) { widenByRow(found, rows, it) })
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		is := row.Stream{Tenant: found[name].Tenant, Stream: found[name].Stream}
		if rows[name] != nil {
			is = *rows[name]
		}
		wide := is
		if wide.Merge(found[name]); !wide.HasLayoutOf(&is) {
			p.Rows = append(p.Rows, Row{t, wide.StreamLayout()})
			rows[name] = &wide
		}
	}
	return rows, nil
}

// widenByRow widens the layout of a stream until it covers a row of readings.
func widenByRow(found, stored map[string]*row.Stream, it attr.Item) {
	s, device, layout, ok := row.StreamOf(it, stored)
	if !ok {
		return
	}
	if found[s.Name()] == nil {
		found[s.Name()] = &s
	}
	found[s.Name()].Widen(device, layout)
}

// Apply writes the stream rows of a plan. If acceptLoss is not nil, Apply calls it for each lost
// table. It tries all repairs, and returns all errors.
func (r *Repairer) Apply(ctx context.Context, p *Plan, acceptLoss func(context.Context, grid.Table) error) error {
	var errs []error
	for i := range p.Rows {
		planned := &p.Rows[i]
		s := &row.Stream{Tenant: planned.Tenant, Stream: planned.Stream, Window: planned.Window, Shards: planned.Shards}
		if _, err := r.Layouts.Cover(ctx, planned.Table, s); err != nil && !client.IsNoTable(err) {
			errs = append(errs, fmt.Errorf("repair the row of stream %s in %s: %w", s.Name(), planned.Table, err))
		}
	}
	for _, t := range p.Lost {
		if acceptLoss == nil {
			break
		}
		if err := acceptLoss(ctx, t); err != nil {
			errs = append(errs, fmt.Errorf("accept the loss of %s: %w", t, err))
		}
	}
	return errors.Join(errs...)
}
