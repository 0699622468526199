package dynamo

import (
	"context"
	"errors"
	"fmt"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"maps"
	"slices"
	"strings"
	"time"
)

// Repairing says how thoroughly [Store.PlanRepair] looks.
type Repairing struct {
	// Scan reads all rows of all tables. Otherwise only tables are scanned that
	// do not say what is in them.
	Scan bool
	// Rate is how many read units a second scans may take; 0: no limit.
	Rate float64
}

// RepairPlan is what tables hold that the registry may lack, and what they lack
// themselves.
type RepairPlan struct {
	Streams []store.Survey // all streams in tables, by tenant and name
	Rows    []RowRepair    // rows of streams that tables lack
	Lost    []grid.Table   // tables that somebody deleted with their readings
	Damaged []string       // rows of streams that cannot be read: they stay as they are
}

// RowRepair is a row of a stream that a table lacks, or that is too narrow.
type RowRepair struct {
	Table grid.Table
	store.Survey
}

// PlanRepair compares all tables with what the registry must know of them. It
// changes nothing.
func (s *Store) PlanRepair(ctx context.Context, o Repairing) (p RepairPlan, err error) {
	if err := s.enter(ctx); err != nil {
		return p, err
	}
	defer s.leave()
	infos, err := s.load(ctx, &selection{any: true})
	if err != nil {
		return p, err
	}
	all := gathered{}
	for i := range infos {
		in := &infos[i]
		if !in.Lost.IsZero() {
			p.Lost = append(p.Lost, in.Table)
		}
		if !in.Owned || in.Status == store.Gone || in.empty {
			continue
		}
		rows, err := s.planTable(ctx, in.Table, o, &p)
		if err != nil && !isNoTable(err) {
			return p, fmt.Errorf("look through %s: %w", in.Table, err)
		}
		for _, row := range rows {
			all.add(in.Table, row)
		}
	}
	p.Streams = all.surveys()
	return p, nil
}

// planTable returns what streams are in a table, and plans the rows that it
// lacks.
func (s *Store) planTable(ctx context.Context, t grid.Table, o Repairing, p *RepairPlan) (map[string]*streamRow, error) {
	said, bad, err := s.streamRowsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, err := range bad {
		p.Damaged = append(p.Damaged, fmt.Sprintf("%s: %s", t, err))
	}
	rows := map[string]*streamRow{}
	for i := range said {
		rows[said[i].name()] = &said[i]
	}
	if len(said) > 0 && len(bad) == 0 && !o.Scan {
		return rows, nil
	}
	found := map[string]*streamRow{}
	err = s.scanTable(ctx, t, o.Rate, wait, func(it item, _ float64) { noteRow(found, rows, it) })
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		is := streamRow{tenant: found[name].tenant, stream: found[name].stream}
		if rows[name] != nil {
			is = *rows[name]
		}
		wide := is
		if wide.merge(found[name]); wide.window != is.window || !maps.Equal(wide.shards, is.shards) {
			p.Rows = append(p.Rows, RowRepair{t, wide.survey()})
			rows[name] = &wide
		}
	}
	return rows, nil
}

// noteRow adds what the key of a row and the keys in it say of its stream. What
// the table says of its window is believed if the row fits; otherwise it is not
// known, and an hour finds all that there can be.
func noteRow(found, said map[string]*streamRow, it item) {
	hash, _ := it[attrSeries].(*strV)
	ids, _ := it[attrIDs].(*setV)
	if hash == nil || ids == nil || hash.Value == streamRows {
		return
	}
	series, shard, err := parseSeriesKey(hash.Value)
	if err != nil {
		return // a finding of Verify
	}
	row := &streamRow{tenant: series.Tenant, stream: series.Stream}
	if found[row.name()] == nil {
		found[row.name()] = row
	}
	layout := store.Layout{RowWindow: time.Millisecond, Shards: shard + 1}
	if slices.ContainsFunc(ids.Value, func(key string) bool { return strings.HasPrefix(key, string(msMark)) }) {
		layout.RowWindow = store.MaxRowWindow
		if is := said[row.name()]; is != nil && fits(it, ids.Value, is.window) {
			layout.RowWindow = is.window
		}
	}
	found[row.name()].widen(series.Device, layout)
}

// fits reports whether a row may be one of a window.
func fits(it item, keys []string, window time.Duration) bool {
	ts, _ := it[attrTS].(*numV)
	if ts == nil {
		return false
	}
	ms, _, ok := msOf(ts.Value)
	return ok && ms%window.Milliseconds() == 0 && !slices.ContainsFunc(keys, func(key string) bool {
		offset, _, ok := parseRowKey(key)
		return !ok || offset >= int64(window)
	})
}

// name returns the row's stream with its tenant.
func (r *streamRow) name() string { return r.tenant + "/" + r.stream }

func (r *streamRow) survey() store.Survey {
	return store.Survey{Tenant: r.tenant, Stream: r.stream, Window: r.window, Shards: r.shards}
}

// Repair writes the rows that tables lack, and, if asked, accepts that tables
// are lost. The registry's streams are the caller's.
func (s *Store) Repair(ctx context.Context, p *RepairPlan, acceptLoss bool) error {
	var errs []error
	for i := range p.Rows {
		r := &p.Rows[i]
		row := &streamRow{tenant: r.Tenant, stream: r.Stream, window: r.Window, shards: r.Shards}
		if err := s.repairRow(ctx, r.Table, row); err != nil && !isNoTable(err) {
			errs = append(errs, fmt.Errorf("repair row of stream %s in %s: %w", row.name(), r.Table, err))
		}
	}
	for _, t := range p.Lost {
		if !acceptLoss {
			break
		}
		if err := s.AcceptLoss(ctx, t); err != nil {
			errs = append(errs, fmt.Errorf("accept the loss of %s: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Store) repairRow(ctx context.Context, t grid.Table, row *streamRow) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	_, err := s.lay(ctx, t, row)
	return err
}
