package writer

import (
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/row"
)

// group has the readings of one write that belong to the same first row, in their order.
type group struct {
	row.Ref

	layout   store.Layout
	existing bool // whether the first row is expected to exist
	entries  []row.Entry
	stored   map[string]*varve.Reading // stored readings that conflict with submitted ones, by key
}

// writeGroup writes the readings of a group. It begins at the first row and continues with
// overflow rows.
func (w *Writer) writeGroup(ctx context.Context, g *group) error {
	entries := row.DistinctKeys(g.entries)
	requested := false
	type step struct {
		at      row.Address
		entries []row.Entry
	}
	steps := []step{{g.Address(), entries}}
	for len(steps) > 0 {
		st := steps[0]
		steps = steps[1:]
		rest, sent, err := w.writeRow(ctx, g, st.at, st.entries)
		if err != nil {
			return err
		}
		requested = requested || sent
		below := map[row.Address][]row.Entry{}
		for i := range rest {
			at := st.at.Below(&rest[i], g.layout.Window())
			below[at] = append(below[at], rest[i])
		}
		for at, list := range below {
			steps = append(steps, step{at, list})
		}
	}
	if !requested { // all readings are in cached closed rows, if the table still exists
		if err := w.checkExists(ctx, g); err != nil {
			return err
		}
	}
	if len(entries) < len(g.entries) {
		g.compareTwins()
	}
	return nil
}

// checkExists fails if the table of a group is missing. Then it also drops the table's cached
// rows and the verdicts that were derived from them.
func (w *Writer) checkExists(ctx context.Context, g *group) error {
	err := w.tables.Confirmed.CheckExists(ctx, g.Table)
	if err == nil {
		return nil
	}
	w.closed.drop(g.Table)
	for i := range g.entries {
		*g.entries[i].Verdict = varve.Verdict{}
	}
	return client.OwnRequest(err)
}

// removeStored sets the verdicts of entries whose keys are in the row, and returns the other
// entries.
func (g *group) removeStored(entries []row.Entry, r *row.Row) (rest []row.Entry, err error) {
	for _, e := range entries {
		if !r.Keys[e.Key] {
			rest = append(rest, e)
		} else if err := g.compare(&e, r); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// compare sets the verdict of an entry whose key is in the row. Only an id that the client chose
// can be in conflict.
func (g *group) compare(e *row.Entry, r *row.Row) error {
	if !e.Reading.HasOwnID() {
		*e.Verdict = varve.Verdict{Outcome: varve.Duplicate}
		return nil
	}
	stored, err := r.Reading(g.Series, g.MS, e.Key)
	if err != nil {
		return fmt.Errorf("compare %s with the stored reading: %w", e.Reading, err)
	}
	if *e.Verdict = store.Repeat(e.Reading, &stored); e.Verdict.Outcome != varve.Duplicate {
		if g.stored == nil {
			g.stored = map[string]*varve.Reading{}
		}
		g.stored[e.Key] = &stored
	}
	return nil
}

// compareTwins sets the verdicts of entries that repeat the key of an earlier entry. The earlier
// entry was stored, or was compared with a stored reading.
func (g *group) compareTwins() {
	earlier := map[string]*varve.Reading{}
	for i := range g.entries {
		e := &g.entries[i]
		switch {
		case e.Verdict.Outcome != 0:
			earlier[e.Key] = e.Reading
		case g.stored[e.Key] != nil:
			*e.Verdict = store.Repeat(e.Reading, g.stored[e.Key])
		default:
			*e.Verdict = store.Repeat(e.Reading, earlier[e.Key])
		}
	}
}
