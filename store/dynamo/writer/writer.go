// Package writer writes readings to the rows of tables.
//
//	batches ── groups, one per first row ── row by row, along the overflow path
//
// Without concurrent writes, each row needs at most two requests. The first request inserts the
// row, on the condition that it is missing. If it exists, the answer has its contents. Readings
// whose ids are in the row are duplicates or conflicts, and one update adds the others. If the rows
// of a series mostly exist, a blind update replaces the insert.
//
// A row of closedBytes or more is closed. Only an erasure changes it. Further readings of its row
// window are written to overflow rows below it. The main types:
//
//   - [Writer] implements [store.Writer] and the erasure of readings.
//   - group has the readings of one first row, with their verdicts.
//   - closedRows is a cache of the keys in closed rows.
//   - expectations is a cache of the series whose rows mostly exist.
//
// These rules always hold:
//
//   - One request writes an id together with all its values, so no reading is stored in part.
//   - A verdict of Stored or Duplicate is based on an answer of DynamoDB, or on a cached closed row
//     of an existing table.
//
// After a failure, readings without such a verdict are rejected, and can be resent. A Writer is
// safe for concurrent use, also in several processes.
package writer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/layouts"
	"github.com/varvedb/varve/store/dynamo/row"
	"github.com/varvedb/varve/store/dynamo/tables"
)

// Writer writes readings. It is safe for concurrent use.
type Writer struct {
	client   *client.Client
	tables   *tables.Tables
	layouts  *layouts.Layouts
	parallel int
	closed   closedRows
	expected expectations
}

// New returns a writer. One call sends at most "parallel" requests at the same time.
func New(c *client.Client, t *tables.Tables, l *layouts.Layouts, parallel int) *Writer {
	return &Writer{client: c, tables: t, layouts: l, parallel: parallel, closed: newClosedRows(), expected: newExpectations()}
}

// DropClosed removes the cached rows of a table that is missing or recreated.
func (w *Writer) DropClosed(t grid.Table) { w.closed.drop(t) }

// Write implements store.Writer.
func (w *Writer) Write(ctx context.Context, batches []store.Batch) []store.Result {
	results := make([]store.Result, len(batches))
	for i := range batches {
		batches[i].SetContentIDs()
	}
	groups := w.groupRows(batches, results)
	uses := make([]layouts.Use, len(groups))
	for i := range groups {
		uses[i] = layouts.Use{Table: groups[i].Table, Series: groups[i].Series, Layout: groups[i].layout}
	}
	failed := w.layouts.Prepare(ctx, uses)
	w.writeGroups(ctx, groups, failed)
	setFailures(groups, failed, batches, results)
	return results
}

// writeGroups writes the groups whose preparation has not failed, several at the same time. It adds
// their errors to the slice "failed".
//
// The calling goroutine writes, too. A request of the SDK needs a deep stack, which each new
// goroutine would have to grow.
func (w *Writer) writeGroups(ctx context.Context, groups []group, failed []error) {
	var next atomic.Int64
	write := func() {
		for i := next.Add(1) - 1; i < int64(len(groups)); i = next.Add(1) - 1 {
			if failed[i] != nil {
				continue
			}
			failed[i] = w.writeIsolated(ctx, &groups[i])
			if client.IsNoTable(failed[i]) {
				w.layouts.Drop(groups[i].Table)
			}
		}
	}
	var others sync.WaitGroup
	for range min(w.parallel, len(groups)) - 1 {
		others.Go(write)
	}
	write()
	others.Wait()
}

func (w *Writer) groupRows(batches []store.Batch, results []store.Result) []group {
	var groups []group
	at := map[row.Ref]int{}
	for i := range batches {
		b := &batches[i]
		results[i].Verdicts = make([]varve.Verdict, len(b.Readings))
		layouts := map[varve.Series]store.Layout{}
		for j := range b.Readings {
			r := &b.Readings[j]
			layout, known := layouts[r.Series]
			if !known {
				layout = b.LayoutOf(r.Series)
				layouts[r.Series] = layout
			}
			ref := row.RefOf(b.Table, r, layout.Window(), layout.Shards)
			n, exists := at[ref]
			if !exists {
				n = len(groups)
				at[ref] = n
				groups = append(groups, group{Ref: ref, layout: layout, existing: w.expected.exist(r.Series, layout.Expect)})
			}
			e := row.NewEntry(r, &results[i].Verdicts[j], ref.MS, layout.Window())
			groups[n].entries = append(groups[n].entries, e)
		}
	}
	return groups
}

// setFailures converts the errors of groups to verdicts. If the table of a batch is missing and no
// group of the table was written, the batch gets that error instead.
func setFailures(groups []group, failed []error, batches []store.Batch, results []store.Result) {
	missing := map[grid.Table]bool{}
	for i := range groups {
		if errors.Is(failed[i], store.ErrNoTable) {
			missing[groups[i].Table] = true
		}
	}
	for i := range groups {
		g := &groups[i]
		if failed[i] == nil {
			delete(missing, g.Table) // some readings of the batch are stored, so each reading needs a verdict
			continue
		}
		for j := range g.entries {
			if v := g.entries[j].Verdict; v.Outcome == 0 {
				*v = verdictOf(failed[i])
			}
		}
	}
	for i := range batches {
		if missing[batches[i].Table] && len(batches[i].Readings) > 0 {
			results[i] = store.Result{Err: fmt.Errorf("%s: %w", batches[i].Table, store.ErrNoTable)}
		}
	}
}

// writeIsolated writes a group. If DynamoDB refuses the request as invalid, it writes the
// readings one by one, so that only the invalid reading fails.
func (w *Writer) writeIsolated(ctx context.Context, g *group) error {
	err := w.writeGroup(ctx, g)
	if varve.FailureOf(err) != varve.Invalid || len(g.entries) == 1 {
		return err
	}
	for i := range g.entries {
		if g.entries[i].Verdict.Outcome != 0 {
			continue
		}
		one := *g
		one.entries = g.entries[i : i+1]
		if err := w.writeGroup(ctx, &one); varve.FailureOf(err) == varve.Invalid {
			*g.entries[i].Verdict = verdictOf(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func verdictOf(err error) varve.Verdict {
	switch varve.FailureOf(err) {
	case varve.Invalid:
		return varve.Reject(varve.CodeMalformed, "%s", err)
	case varve.Damaged:
		return varve.Reject(varve.CodeDamaged, "%s", err)
	default:
		return varve.Reject(varve.CodeUnavailable, "%s", err)
	}
}
