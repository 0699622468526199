package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// group is the readings of one write that belong to one row of one series' shard
// in one table, in the order in which they came.
type group struct {
	lot
	layout   store.Layout
	existing bool // the row is expected to be there
	entries  []entry
	stored   map[string]*varve.Reading // by key: what entries are in conflict with
}

// lot is where a group's rows lie: that of whole milliseconds, and those below
// it.
type lot struct {
	table  grid.Table
	series varve.Series
	shard  int
	ms     int64
}

func (g *group) key(at place) item {
	return item{attrSeries: &strV{Value: seriesKey(g.series, g.shard)}, attrTS: &numV{Value: at.String()}}
}

func (g *group) at(p place) rowAt { return rowAt{g.table, g.series, g.shard, p} }

// Write implements store.Writer.
func (s *Store) Write(ctx context.Context, batches []store.Batch) []store.Result {
	results := make([]store.Result, len(batches))
	if err := s.enter(ctx); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	defer s.leave()
	groups := s.groupRows(batches, results)
	failed := s.prepare(ctx, groups)
	var g errgroup.Group
	g.SetLimit(s.opts.Parallel)
	for i := range groups {
		if failed[i] != nil {
			continue
		}
		g.Go(func() error {
			failed[i] = s.writeApart(ctx, &groups[i])
			if errors.Is(failed[i], store.ErrNoTable) {
				s.forgetTable(groups[i].table)
			}
			return nil
		})
	}
	_ = g.Wait() // each group has its own error
	settle(groups, failed, batches, results)
	return results
}

// groupRows puts readings together that share a row.
func (s *Store) groupRows(batches []store.Batch, results []store.Result) []group {
	var groups []group
	at := map[lot]int{}
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
			window := int64(layout.Window())
			w := lot{b.Table, r.Series, shardOf(r.ID, layout.Shards), r.Time.UnixNano() / window * window / nsPerMs}
			n, there := at[w]
			if !there {
				n = len(groups)
				at[w] = n
				groups = append(groups, group{lot: w, layout: layout, existing: s.expects.existing(r.Series, layout.Expect)})
			}
			key := rowKey(r, w.ms, window > nsPerMs)
			e := entry{key: key, offset: r.Time.UnixNano() - w.ms*nsPerMs, reading: r, verdict: &results[i].Verdicts[j], size: sizeOfReading(r, key)}
			groups[n].entries = append(groups[n].entries, e)
		}
	}
	return groups
}

// settle turns the errors of groups into verdicts. A batch whose table is not
// there has that error instead.
func settle(groups []group, failed []error, batches []store.Batch, results []store.Result) {
	missing := map[grid.Table]bool{}
	for i := range groups {
		if errors.Is(failed[i], store.ErrNoTable) {
			missing[groups[i].table] = true
		}
	}
	for i := range groups {
		g := &groups[i]
		if failed[i] == nil {
			delete(missing, g.table) // some were stored: the others have verdicts of their own
			continue
		}
		for j := range g.entries {
			if v := g.entries[j].verdict; v.Outcome == 0 {
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

// writeApart writes a group's readings; if DynamoDB does not take one of them as
// it is, each by itself, so that it fails alone.
func (s *Store) writeApart(ctx context.Context, g *group) error {
	err := s.writeGroup(ctx, g)
	if varve.FailureOf(err) != varve.Invalid || len(g.entries) == 1 {
		return err
	}
	for i := range g.entries {
		if g.entries[i].verdict.Outcome != 0 {
			continue
		}
		one := *g
		one.entries = g.entries[i : i+1]
		if err := s.writeGroup(ctx, &one); varve.FailureOf(err) == varve.Invalid {
			*g.entries[i].verdict = verdictOf(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// verdictOf turns a failure into a verdict.
func verdictOf(err error) varve.Verdict {
	switch varve.FailureOf(err) {
	case varve.Invalid:
		return varve.Reject(varve.CodeMalformed, "%s", err)
	case varve.Damaged:
		return varve.Reject(varve.CodeDamaged, "%s", err)
	}
	return varve.Reject(varve.CodeUnavailable, "%s", err)
}

// writeGroup writes a group's readings, from the row of the millisecond down.
func (s *Store) writeGroup(ctx context.Context, g *group) error {
	entries := onceEach(g.entries)
	sent := false
	type step struct {
		at      place
		entries []entry
	}
	steps := []step{{place{ms: g.ms}, entries}}
	for len(steps) > 0 {
		st := steps[0]
		steps = steps[1:]
		rest, asked, err := s.writeRow(ctx, g, st.at, st.entries)
		if err != nil {
			return err
		}
		sent = sent || asked
		below := map[place][]entry{}
		for _, e := range rest {
			p := st.at.below(e.key, e.offset, g.layout.Window())
			below[p] = append(below[p], e)
		}
		for p, list := range below {
			steps = append(steps, step{p, list})
		}
	}
	if !sent { // closed rows had it all: if the table is still there
		if err := s.confirm(ctx, g); err != nil {
			return err
		}
	}
	if len(entries) < len(g.entries) {
		g.compareTwins()
	}
	return nil
}

// onceEach leaves out entries whose key was there before.
func onceEach(entries []entry) []entry {
	seen := make(map[string]bool, len(entries))
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
		again := seen[e.key]
		seen[e.key] = true
		return again
	})
}

// confirm makes sure that a group's table is there. If it is not, duplicates of
// what was in it are none.
func (s *Store) confirm(ctx context.Context, g *group) error {
	if s.noted.met(g.table) {
		return nil
	}
	if err := s.exists(ctx, g.table); err != nil {
		s.closes.forget(g.table)
		for i := range g.entries {
			*g.entries[i].verdict = varve.Verdict{}
		}
		return notTheirs(err)
	}
	s.noted.meet(g.table)
	return nil
}

// writeRow writes what it can into one row, gives that its verdicts, and
// returns what belongs below the row, because that is closed; and whether
// DynamoDB was asked.
func (s *Store) writeRow(ctx context.Context, g *group, at place, entries []entry) (rest []entry, asked bool, err error) {
	if known := s.closes.contentsOf(g.at(at)); known != nil && known.settle(entries) {
		return known.without(entries), false, nil
	}
	r, n, err := s.first(ctx, g, at, entries)
	for {
		if err != nil {
			return nil, true, err
		}
		if r.stored {
			mark(entries[:n], varve.Stored)
			entries = entries[n:]
		}
		if r.row != nil {
			if entries, err = g.without(entries, r.row); err != nil {
				return nil, true, damagedRow(g.table, g.key(at), err)
			}
		}
		if len(entries) == 0 || r.row != nil && r.row.bytes >= closedBytes {
			return entries, true, nil
		}
		if r.row == nil { // it is not there, or no more
			n = fitting(entries, freshBytes)
			r, err = s.putNew(ctx, g, at, entries[:n])
			continue
		}
		// As much as one request takes: in rows below it would cost as many units,
		// and a request for each. It closes the row, or is all there is.
		n = min(fitting(entries, freshBytes), assignable(entries))
		r, err = s.putMore(ctx, g, at, r.row, entries[:n])
	}
}

// first makes the first attempt on a row, in the order that suits what is
// expected of it, and returns with how many entries.
func (s *Store) first(ctx context.Context, g *group, at place, entries []entry) (r reply, n int, err error) {
	n = len(entries)
	if g.existing && addable(entries) {
		r, err = s.putUnseen(ctx, g, at, entries)
		if err == nil && (r.stored || r.row == nil) {
			s.expects.learn(g.series, r.stored)
		}
		return r, n, err
	}
	n = fitting(entries, freshBytes)
	r, err = s.putNew(ctx, g, at, entries[:n])
	switch {
	case err != nil:
	case r.stored:
		s.expects.learn(g.series, false)
	case r.row != nil && r.row.bytes < closedBytes && !r.row.holds(entries):
		s.expects.learn(g.series, true)
	}
	return r, n, err
}

// addable reports whether entries can be added to a row that was not seen.
func addable(entries []entry) bool {
	fields := map[string]bool{}
	for i := range entries {
		for _, f := range entries[i].reading.Fields {
			fields[f.Name] = true
		}
	}
	return len(entries) <= unseenKeys && len(fields) <= unseenFields &&
		assignable(entries) == len(entries) && fitting(entries, closedBytes) == len(entries)
}

// holds reports whether all entries are in a row.
func (r *row) holds(entries []entry) bool {
	return !slices.ContainsFunc(entries, func(e entry) bool { return !r.keys[e.key] })
}

func mark(entries []entry, o varve.Outcome) {
	for i := range entries {
		*entries[i].verdict = varve.Verdict{Outcome: o}
	}
}

// fitting returns how many entries it takes to fill some bytes: one at least.
func fitting(entries []entry, room int) int {
	bytes := 0
	for i := range entries {
		if bytes >= room && i > 0 {
			return i
		}
		bytes += entries[i].size
	}
	return len(entries)
}

// assignable returns how many entries one update can add: one at least.
func assignable(entries []entry) int {
	assignments := 0
	for i := range entries {
		assignments += len(entries[i].reading.Fields) + 2
		if assignments > maxAssignments && i > 0 {
			return i
		}
	}
	return len(entries)
}
