package archive

import (
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/tablescan"
)

// mergedErasure selects the readings that stay in a merged archive.
type mergedErasure struct {
	tables  []grid.Table                // tables of the merged archive
	pointed map[grid.Table]bool         // whether the record of a table points to the merged archive
	erase   []grid.Table                // tables whose covered readings are erased
	covers  func(r *varve.Reading) bool // reports whether the erasure covers a reading
	erased  map[grid.Table]int64        // number of erased readings by table
	dropped int64                       // number of covered readings of tables whose records point elsewhere
	stay    int64
}

// omits reports whether the erasure leaves a reading out of the rewritten archive.
func (e *mergedErasure) omits(r *varve.Reading) bool {
	t, ok := e.tableOf(r)
	return ok && (!e.pointed[t] || slices.Contains(e.erase, t) && e.covers(r))
}

func (e *mergedErasure) tableOf(r *varve.Reading) (grid.Table, bool) {
	sec := r.Time.Unix()
	i := slices.IndexFunc(e.tables, func(t grid.Table) bool { return t.Start <= sec && sec < t.End })
	if i < 0 {
		return grid.Table{}, false
	}
	return e.tables[i], true
}

// count adds the readings of a block to erased, dropped or stay.
func (e *mergedErasure) count(b *block.Block) {
	for i := range b.Len() {
		var r varve.Reading
		b.Fill(i, &r)
		t, ok := e.tableOf(&r)
		switch covered := e.covers(&r); {
		case ok && !e.pointed[t]:
			if covered {
				e.dropped++
			}
		case ok && covered && slices.Contains(e.erase, t):
			e.erased[t]++
		default:
			e.stay++
		}
	}
}

// eraseMerged replaces a merged archive by one without the covered readings of the tables in e.tables. The
// new archive also lacks the readings of tables whose records do not point to the replaced one. Other tables
// may be on hold, because their readings stay as they are. If no record points to the merged archive,
// eraseMerged deletes it.
func (e *eraser) eraseMerged(ctx context.Context, m *Merged) error {
	if m.State != Archived {
		return errMerging(m.Tables[0])
	}
	records, err := e.recordsOf(ctx, m)
	if err != nil {
		return err
	}
	if err := e.checkOwn(ctx, m, records); err != nil {
		return fmt.Errorf("%s is not changed: %w", m.Name, err)
	}
	records = slices.DeleteFunc(records, func(r Record) bool { return !m.has(&r) })
	if len(records) == 0 {
		return e.discardMerged(ctx, m)
	}
	old, err := e.files.manifest(ctx, &records[0])
	if err != nil {
		return err
	}
	x := &mergedErasure{tables: m.Tables, pointed: map[grid.Table]bool{}, erase: e.tables, covers: e.covers, erased: map[grid.Table]int64{}}
	for i := range records {
		r := &records[i]
		x.pointed[r.Table] = true
		if err := r.checkHold(); err != nil && slices.Contains(e.tables, r.Table) {
			return err
		}
	}
	err = e.files.eachBlockExactly(ctx, old, m.Dir, func(b *block.Block) error {
		x.count(b)
		return nil
	})
	if err != nil || len(x.erased) == 0 && x.dropped == 0 {
		return err
	}
	if err := e.begin(ctx); err != nil {
		return err
	}
	next, err := e.rewriteMerged(ctx, m, old, x, records)
	if err != nil {
		return e.removeDiscarded(ctx, &next, err)
	}
	e.complete[next.Name] = true
	for t, n := range x.erased {
		e.erased[t] += n
	}
	return e.discardMerged(ctx, m)
}

// rewriteMerged writes the merged archive that replaces another one, and points the records to it.
func (a merger) rewriteMerged(ctx context.Context, m *Merged, old *Manifest, e *mergedErasure, records []Record) (next Merged, err error) {
	next, err = a.beginMerged(ctx, records)
	if err != nil {
		return next, err
	}
	replaces := old.Replaces[:len(old.Replaces):len(old.Replaces)]
	for _, was := range old.Tables {
		if t, ok := grid.Parse(was.Table); ok && e.erased[t] > 0 {
			replaces = append(replaces, was)
		}
	}
	manifest, body, err := a.writeMerged(ctx, &next, old.Class, replaces, func(to tablescan.Sink) error {
		return a.files.eachBlockExactly(ctx, old, m.Dir, func(b *block.Block) error { return passRest(b, e.omits, to) })
	})
	if err != nil {
		return next, err
	}
	if manifest.Readings != e.stay {
		return next, fmt.Errorf("%d readings were written, want %d", manifest.Readings, e.stay)
	}
	for i := range records {
		t := records[i].Table
		was, is := old.entryOf(t), manifest.entryOf(t)
		if n := e.erased[t]; is.Readings != was.Readings-n || n == 0 && *is != *was {
			return next, fmt.Errorf("the rewritten archive has %+v, want %+v without %d readings", *is, *was, n)
		}
	}
	return next, a.adoptMerged(ctx, &next, manifest, body, records)
}

// discardUnused deletes the merged archives to which no record points. A damaged one stays while any of
// its tables has a record.
func (a merger) discardUnused(ctx context.Context) error {
	list, err := a.catalog.ListMerged(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		records, err := a.recordsOf(ctx, &list[i])
		if err != nil {
			return err
		}
		if m := &list[i]; m.State == Archived && !refersAny(m, records) && (!m.Damaged || len(records) == 0) {
			if err := a.discardMerged(ctx, &list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
